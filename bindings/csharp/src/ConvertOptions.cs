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

        /// <summary>
        /// What every number is multiplied by, in float32: one, or one for each index of <see cref="ScaleAxis"/>. Null
        /// for no change.
        /// </summary>
        public float[] Scale { get; set; }

        /// <summary>What is added then, likewise.</summary>
        public float[] Offset { get; set; }

        /// <summary>
        /// The axis of the destination that both go along; a negative one counts from the end.
        /// </summary>
        public int ScaleAxis { get; set; }

        // Calls with the layout of the options, or with null; their numbers stay where they are meanwhile.
        internal static unsafe void With(ConvertOptions options, LayoutCall call)
        {
            if (options == null)
            {
                call(null);
                return;
            }
            int count = System.Math.Max(LengthOf(options.Scale), LengthOf(options.Offset));
            fixed (float* scale = Repeated(options.Scale, count))
            fixed (float* offset = Repeated(options.Offset, count))
            {
                ConvertOptionsLayout layout = default(ConvertOptionsLayout);
                layout.struct_size = sizeof(ConvertOptionsLayout);
                layout.casting = (int)options.Casting;
                layout.overflow = (int)options.Overflow;
                layout.byte_order = (int)options.ByteOrder;
                layout.scale = scale;
                layout.offset = offset;
                layout.scale_count = count;
                layout.scale_axis = options.ScaleAxis;
                call(&layout);
            }
        }

        internal unsafe delegate void LayoutCall(ConvertOptionsLayout* layout);

        private static int LengthOf(float[] numbers)
        {
            return numbers != null ? numbers.Length : 0;
        }

        // One number is repeated.
        private static float[] Repeated(float[] numbers, int count)
        {
            if (numbers == null || (numbers.Length == count && count > 0))
            {
                return numbers;
            }
            if (numbers.Length != 1)
            {
                throw new ViaShapeException(
                    "Scale and Offset have lengths " + numbers.Length + " and " + count
                    + "; expected equal ones, or 1, and not 0");
            }
            var all = new float[count];
            for (int i = 0; i < count; ++i)
            {
                all[i] = numbers[0];
            }
            return all;
        }
    }
}
