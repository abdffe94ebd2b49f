using System;
using System.Text;

namespace Viaduct
{
    /// <summary>What NumPy's __array_interface__ and the __cuda_array_interface__ (version 3) hold.</summary>
    public sealed class ArrayInterface
    {
        private const int MaxNDim = Native.VIA_MAX_NDIM;
        private const int MaxTypeString = 15;

        /// <summary>A description to be filled in.</summary>
        public ArrayInterface()
        {
            Version = 3;
            Shape = new long[0];
        }

        internal unsafe ArrayInterface(ArrayInterfaceLayout* found)
        {
            Version = found->version;
            IsReadOnly = found->read_only != 0;
            Address = found->address;
            TypeString = Utf8.Text((IntPtr)found->typestr);
            Shape = new ReadOnlySpan<long>(found->shape, found->ndim).ToArray();
            if (found->has_strides != 0)
            {
                ByteStrides = new ReadOnlySpan<long>(found->strides, found->ndim).ToArray();
            }
            Stream = found->has_stream != 0 ? found->stream : (long?)null;
        }

        /// <summary>The version of the protocol, 3.</summary>
        public int Version { get; set; }

        /// <summary>The address of the first element.</summary>
        public IntPtr Address { get; set; }

        /// <summary>The element type as NumPy writes it, as in "&lt;f4".</summary>
        public string TypeString { get; set; }

        /// <summary>The extents.</summary>
        public long[] Shape { get; set; }

        /// <summary>The strides in bytes; null for row-major.</summary>
        public long[] ByteStrides { get; set; }

        /// <summary>Whether the memory may not be written.</summary>
        public bool IsReadOnly { get; set; }

        /// <summary>CUDA: 1 for the legacy stream, 2 for the per-thread one, else the address of a CUstream.</summary>
        public long? Stream { get; set; }

        /// <summary>Every field, for a log.</summary>
        public override string ToString()
        {
            return TypeString + " [" + string.Join(", ", Shape) + "] at 0x" + Address.ToString("x")
                + (ByteStrides == null ? "" : ", byte strides [" + string.Join(", ", ByteStrides) + "]")
                + (IsReadOnly ? ", read-only" : "") + (Stream.HasValue ? ", stream " + Stream : "");
        }

        internal unsafe ArrayInterfaceLayout Layout(string function)
        {
            byte[] type = Encoding.ASCII.GetBytes(TypeString ?? "");
            if (Shape == null)
            {
                throw new ArgumentNullException(
                    "description", function + ": description.Shape is null; expected extents");
            }
            if (Shape.Length > MaxNDim)
            {
                throw new ViaShapeException(function + ": description.Shape has " + Shape.Length
                    + " extents; expected at most " + MaxNDim);
            }
            if (type.Length > MaxTypeString)
            {
                throw new ViaInvalidArgumentException(function + ": description.TypeString has " + type.Length
                    + " characters; expected at most " + MaxTypeString);
            }
            ViaArray.CheckLength(ByteStrides, Shape.Length, function + ": description.ByteStrides");
            ArrayInterfaceLayout layout = default(ArrayInterfaceLayout);
            layout.struct_size = sizeof(ArrayInterfaceLayout);
            layout.version = Version;
            layout.ndim = Shape.Length;
            layout.read_only = IsReadOnly ? 1 : 0;
            layout.has_strides = ByteStrides != null ? 1 : 0;
            layout.has_stream = Stream.HasValue ? 1 : 0;
            layout.stream = Stream ?? 0;
            layout.address = Address;
            Shape.AsSpan().CopyTo(new Span<long>(layout.shape, MaxNDim));
            ByteStrides.AsSpan().CopyTo(new Span<long>(layout.strides, MaxNDim));
            type.AsSpan().CopyTo(new Span<byte>(layout.typestr, MaxTypeString));
            return layout;
        }
    }
}
