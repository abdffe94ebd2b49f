using System;

namespace Viaduct
{
    /// <summary>Properties of a file.</summary>
    public sealed class FileProperties
    {
        internal unsafe FileProperties(FilePropertiesLayout* found)
        {
            Format = (FileFormat)found->file_format;
            DType = new DType(found->dtype);
            IsColumnMajor = found->column_major != 0;
            ByteOrder = (ByteOrder)found->byte_order;
            NBytes = found->nbytes;
            ByteOffset = found->byte_offset;
            Shape = new ReadOnlySpan<long>(found->shape, found->ndim).ToArray();
        }

        /// <summary>Raw or .npy.</summary>
        public FileFormat Format { get; }

        /// <summary>.npy, window: of the elements; no dtype for a raw file.</summary>
        public DType DType { get; }

        /// <summary>Whether the elements are in Fortran order.</summary>
        public bool IsColumnMajor { get; }

        /// <summary>That of the elements; reads and writes swap those that are not in this machine's.</summary>
        public ByteOrder ByteOrder { get; }

        /// <summary>Of the whole file.</summary>
        public long NBytes { get; }

        /// <summary>Of the first element in the whole file.</summary>
        public long ByteOffset { get; }

        /// <summary>.npy, window: the extents; none for a raw file.</summary>
        public long[] Shape { get; }

        /// <summary>Every field, for a log.</summary>
        public override string ToString()
        {
            return Format + " " + DType + " [" + string.Join(", ", Shape) + "]"
                + (IsColumnMajor ? " in Fortran order" : "") + ", " + NBytes + " bytes, elements at " + ByteOffset;
        }
    }
}
