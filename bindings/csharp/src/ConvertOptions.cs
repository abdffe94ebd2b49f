namespace Viaduct
{
    /// <summary>Options of a conversion; every default is the usual.</summary>
    public sealed class ConvertOptions
    {
        /// <summary>Which conversions are allowed.</summary>
        public Casting Casting { get; set; }

        /// <summary>What floats too large for a destination of at most 8 bits become.</summary>
        public FloatOverflow Overflow { get; set; }

        /// <summary>The byte order of the source's elements.</summary>
        public ByteOrder ByteOrder { get; set; }

        internal static unsafe ConvertOptionsLayout LayoutOf(ConvertOptions options)
        {
            ConvertOptionsLayout layout = default(ConvertOptionsLayout);
            if (options != null)
            {
                layout.struct_size = sizeof(ConvertOptionsLayout);
                layout.casting = (int)options.Casting;
                layout.overflow = (int)options.Overflow;
                layout.byte_order = (int)options.ByteOrder;
            }
            return layout;
        }
    }
}
