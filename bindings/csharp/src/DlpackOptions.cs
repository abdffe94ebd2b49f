namespace Viaduct
{
    /// <summary>What a DLPack consumer takes; every default is "anything".</summary>
    public sealed class DlpackOptions
    {
        /// <summary>The newest major version that the consumer takes; 0.0 is no limit.</summary>
        public int MaxMajor { get; set; }

        /// <summary>The minor version that goes with it.</summary>
        public int MaxMinor { get; set; }

        /// <summary>Where the result must be.</summary>
        public Device Target { get; set; }

        /// <summary>When there may be a copy.</summary>
        public CopyPolicy Copy { get; set; }

        internal static unsafe DlpackOptionsLayout LayoutOf(DlpackOptions options)
        {
            DlpackOptionsLayout layout = default(DlpackOptionsLayout);
            if (options != null)
            {
                layout.struct_size = sizeof(DlpackOptionsLayout);
                layout.max_major = options.MaxMajor;
                layout.max_minor = options.MaxMinor;
                layout.target_device_type = (int)options.Target.Type;
                layout.target_device_id = options.Target.Id;
                layout.copy = (int)options.Copy;
            }
            return layout;
        }
    }
}
