namespace Viaduct
{
    /// <summary>How a file is opened or created; every default is the usual.</summary>
    public sealed class ViaFileOptions
    {
        /// <summary>Whether it may be read or written; not read where a file is created.</summary>
        public ViaFileMode Mode { get; set; }

        /// <summary>What its bytes are.</summary>
        public FileFormat Format { get; set; }

        /// <summary>Whether the elements are in Fortran order; not read where there is a .npy header already.</summary>
        public bool IsColumnMajor { get; set; }

        /// <summary>Whether a write returns when the data would survive a power cut.</summary>
        public bool IsDurable { get; set; }

        /// <summary>Whether a write replaces the file whole, or not at all.</summary>
        public bool IsAtomic { get; set; }

        /// <summary>How transfers use the system's cache of file pages.</summary>
        public PageCache PageCache { get; set; }

        /// <summary>Whether a transfer need not have the shape and the element type of the .npy file or the window.
        /// </summary>
        public bool AsBytes { get; set; }

        internal static unsafe FileOptionsLayout LayoutOf(ViaFileOptions options)
        {
            FileOptionsLayout layout = default(FileOptionsLayout);
            if (options != null)
            {
                layout.struct_size = sizeof(FileOptionsLayout);
                layout.mode = (int)options.Mode;
                layout.file_format = (int)options.Format;
                layout.column_major = options.IsColumnMajor ? 1 : 0;
                layout.durable = options.IsDurable ? 1 : 0;
                layout.atomic_write = options.IsAtomic ? 1 : 0;
                layout.page_cache = (int)options.PageCache;
                layout.as_bytes = options.AsBytes ? 1 : 0;
            }
            return layout;
        }
    }
}
