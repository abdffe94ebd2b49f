using System;

namespace Viaduct
{
    /// <summary>Result of a call.</summary>
    public enum ViaStatus
    {
#pragma warning disable 1591 // the exceptions of the same names say what each means
        Ok = via_status.VIA_OK,
        InvalidArgument = via_status.VIA_ERROR_INVALID_ARGUMENT,
        DType = via_status.VIA_ERROR_DTYPE,
        Shape = via_status.VIA_ERROR_SHAPE,
        Index = via_status.VIA_ERROR_INDEX,
        Overflow = via_status.VIA_ERROR_OVERFLOW,
        OutOfMemory = via_status.VIA_ERROR_OUT_OF_MEMORY,
        ReadOnly = via_status.VIA_ERROR_READ_ONLY,
        Overlap = via_status.VIA_ERROR_OVERLAP,
        NeedsCopy = via_status.VIA_ERROR_NEEDS_COPY,
        Exchange = via_status.VIA_ERROR_EXCHANGE,
        Version = via_status.VIA_ERROR_VERSION,
        Device = via_status.VIA_ERROR_DEVICE,
        Pointer = via_status.VIA_ERROR_POINTER,
        Unsupported = via_status.VIA_ERROR_UNSUPPORTED,
        Cuda = via_status.VIA_ERROR_CUDA,
        StreamCapture = via_status.VIA_ERROR_STREAM_CAPTURE,
        Forked = via_status.VIA_ERROR_FORKED,
        WouldDeadlock = via_status.VIA_ERROR_WOULD_DEADLOCK,
        Cancelled = via_status.VIA_ERROR_CANCELLED,
        Io = via_status.VIA_ERROR_IO,
        Format = via_status.VIA_ERROR_FORMAT,
        Callback = via_status.VIA_ERROR_CALLBACK,
        Internal = via_status.VIA_ERROR_INTERNAL
#pragma warning restore 1591
    }

    /// <summary>Kinds of memory, with DLPack's numbers.</summary>
    public enum DeviceType
    {
        /// <summary>To be found out; in options, wherever the memory is now.</summary>
        Any = Native.VIA_DEVICE_ANY,

        /// <summary>Ordinary host memory.</summary>
        Cpu = Native.VIA_DEVICE_CPU,

        /// <summary>Memory of a CUDA device.</summary>
        Cuda = Native.VIA_DEVICE_CUDA,

        /// <summary>Pinned host memory.</summary>
        CudaHost = Native.VIA_DEVICE_CUDA_HOST,

        /// <summary>CUDA managed (unified) memory.</summary>
        CudaManaged = Native.VIA_DEVICE_CUDA_MANAGED
    }

    /// <summary>How memory is to be wrapped.</summary>
    [Flags]
    public enum WrapFlags
    {
        /// <summary>Nothing special.</summary>
        None = 0,

        /// <summary>Nothing may write through this array, its views or its exports.</summary>
        ReadOnly = Native.VIA_WRAP_READ_ONLY,

        /// <summary>The strides given are in bytes.</summary>
        ByteStrides = Native.VIA_WRAP_BYTE_STRIDES,

        /// <summary>The address is not looked up in the driver.</summary>
        Unchecked = Native.VIA_WRAP_UNCHECKED,

        /// <summary>The device is found from the address; the one given is not read.</summary>
        Detect = Native.VIA_WRAP_DETECT,

        /// <summary>Host memory: its first and last byte must be readable.</summary>
        Probe = Native.VIA_WRAP_PROBE
    }

    /// <summary>What is special about an array.</summary>
    [Flags]
    public enum ArrayFlags
    {
        /// <summary>Nothing.</summary>
        None = 0,

        /// <summary>It may not be written.</summary>
        ReadOnly = Native.VIA_ARRAY_READ_ONLY,

        /// <summary>Made by copying what was offered: writes do not reach the original.</summary>
        Copied = Native.VIA_ARRAY_COPIED,

        /// <summary>Some element does not start at a multiple of its natural alignment.</summary>
        Misaligned = Native.VIA_ARRAY_MISALIGNED,

        /// <summary>Elements narrower than a byte have a byte each.</summary>
        SubbytePadded = Native.VIA_ARRAY_SUBBYTE_PADDED
    }

    /// <summary>Orders that the elements of an array may lie in.</summary>
    public enum MemoryOrder
    {
        /// <summary>The last index moves fastest, as in C and C#.</summary>
        RowMajor = Native.VIA_ORDER_ROW_MAJOR,

        /// <summary>The first index moves fastest, as in Fortran.</summary>
        ColumnMajor = Native.VIA_ORDER_COLUMN_MAJOR,

        /// <summary>No gaps and no overlap, whatever the order of the axes.</summary>
        Any = Native.VIA_ORDER_ANY
    }

    /// <summary>Whether an exchange may copy.</summary>
    public enum CopyPolicy
    {
        /// <summary>Exports; copies only if exporting is impossible.</summary>
        IfNeeded = Native.VIA_COPY_IF_NEEDED,

        /// <summary>Exports, or fails with a <see cref="ViaNeedsCopyException"/>.</summary>
        Never = Native.VIA_COPY_NEVER,

        /// <summary>Always makes a new, writable copy.</summary>
        Always = Native.VIA_COPY_ALWAYS
    }

    /// <summary>Kinds of memory that can be allocated.</summary>
    public enum MemoryKind
    {
        /// <summary>Host memory, aligned to 64 bytes.</summary>
        Host = Native.VIA_MEMORY_HOST,

        /// <summary>Pinned host memory.</summary>
        Pinned = Native.VIA_MEMORY_PINNED,

        /// <summary>Memory of one CUDA device.</summary>
        Device = Native.VIA_MEMORY_DEVICE,

        /// <summary>The same, allocated and freed in stream order.</summary>
        DevicePool = Native.VIA_MEMORY_DEVICE_POOL,

        /// <summary>CUDA managed memory.</summary>
        Managed = Native.VIA_MEMORY_MANAGED,

        /// <summary>Host memory that other processes can map: see <see cref="ViaArray.ExportIpc"/>.</summary>
        Shared = Native.VIA_MEMORY_SHARED
    }

    /// <summary>How a file is opened.</summary>
    public enum ViaFileMode
    {
        /// <summary>An existing file, to read.</summary>
        Read = Native.VIA_MODE_READ,

        /// <summary>An existing file, to read and write.</summary>
        ReadWrite = Native.VIA_MODE_READ_WRITE,

        /// <summary>An existing file; arrays mapped from it may be written, the file is not.</summary>
        CopyOnWrite = Native.VIA_MODE_COPY_ON_WRITE
    }

    /// <summary>The format of a file.</summary>
    public enum FileFormat
    {
        /// <summary>.npy if the file starts with its magic (or, created, if its name ends so), else raw.</summary>
        Auto = Native.VIA_FORMAT_AUTO,

        /// <summary>Elements without a header.</summary>
        Raw = Native.VIA_FORMAT_RAW,

        /// <summary>NumPy's .npy.</summary>
        Npy = Native.VIA_FORMAT_NPY
    }

    /// <summary>How transfers use the system's cache of file pages.</summary>
    public enum PageCache
    {
        /// <summary>Reads cached pages from it and bypasses it for the rest; durable writes bypass it.</summary>
        Auto = Native.VIA_PAGE_CACHE_AUTO,

        /// <summary>Uses it for everything.</summary>
        Use = Native.VIA_PAGE_CACHE_USE,

        /// <summary>Bypasses it for uncached pages and for writes.</summary>
        Avoid = Native.VIA_PAGE_CACHE_AVOID
    }
    /// <summary>Which conversions are allowed, with NumPy's names and meaning.</summary>
    public enum Casting
    {
        /// <summary>Also within a kind, and up: bool, unsigned, signed, float, complex.</summary>
        SameKind = Native.VIA_CASTING_SAME_KIND,

        /// <summary>Only those that keep every value (and 64-bit integers to float64).</summary>
        Safe = Native.VIA_CASTING_SAFE,

        /// <summary>Only of the byte order.</summary>
        Equiv = Native.VIA_CASTING_EQUIV,

        /// <summary>All.</summary>
        Unsafe = Native.VIA_CASTING_UNSAFE
    }

    /// <summary>What becomes of a float too large for a destination of at most 8 bits.</summary>
    public enum FloatOverflow
    {
        /// <summary>Infinity; NaN in types without it; the largest number in types without NaN.</summary>
        Infinity = Native.VIA_OVERFLOW_INFINITY,

        /// <summary>The largest number of its sign.</summary>
        Saturate = Native.VIA_OVERFLOW_SATURATE
    }

    /// <summary>Byte orders.</summary>
    public enum ByteOrder
    {
        /// <summary>This machine's.</summary>
        Native = Viaduct.Native.VIA_BYTE_ORDER_NATIVE,

        /// <summary>The lowest byte first.</summary>
        Little = Viaduct.Native.VIA_BYTE_ORDER_LITTLE,

        /// <summary>The highest byte first.</summary>
        Big = Viaduct.Native.VIA_BYTE_ORDER_BIG
    }
}
