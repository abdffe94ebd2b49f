using System;
using System.Runtime.InteropServices;

namespace Viaduct
{
    /// <summary>
    /// A strided array: a view of memory and a share in keeping it alive. It never changes after it is made, and any
    /// number of threads may use it. Views and exports hold the memory themselves: the array that they were made of may
    /// be closed first.
    /// </summary>
    public sealed partial class ViaArray : ViaHandle
    {
        // What never changes, once it has been asked for. Two threads may make it: either is right.
        private Facts facts;

        static ViaArray()
        {
            NativeLibraryFile.Load();
        }

        internal ViaArray(IntPtr address)
            : base(new Handle(address))
        {
        }

        /// <summary>Returns the address of the element with index 0 on every axis.</summary>
        public IntPtr Address
        {
            get { return Native.via_array_data(this); }
        }

        /// <summary>The element type.</summary>
        public DType DType
        {
            get { return new DType(Native.via_array_dtype(this)); }
        }

        /// <summary>The number of dimensions.</summary>
        public int NDim
        {
            get { return Native.via_array_ndim(this); }
        }

        /// <summary>The extents.</summary>
        public ReadOnlySpan<long> Shape
        {
            get { return PerAxis(ref Known.Shape, array => Native.via_array_shape(array)); }
        }

        /// <summary>
        /// The strides in elements, where Python's are bytes; empty if some stride is not a whole number of elements (see
        /// <see cref="ByteStrides"/>).
        /// </summary>
        public ReadOnlySpan<long> Strides
        {
            get { return PerAxis(ref Known.Strides, array => Native.via_array_strides(array)); }
        }

        /// <summary>The strides in bytes, as Python's; empty if some stride is not whole bytes.</summary>
        public ReadOnlySpan<long> ByteStrides
        {
            get { return PerAxis(ref Known.ByteStrides, array => Native.via_array_byte_strides(array)); }
        }

        /// <summary>Where the memory is.</summary>
        public Device Device
        {
            get { return new Device((DeviceType)Native.via_array_device_type(this), Native.via_array_device_id(this)); }
        }

        /// <summary>Returns the number of elements.</summary>
        public long Size
        {
            get { return Native.via_array_size(this); }
        }

        /// <summary>Returns the bytes of all elements, as a dense array would hold them.</summary>
        public long NBytes
        {
            get { return Native.via_array_nbytes(this); }
        }

        /// <summary>What is special about it.</summary>
        public ArrayFlags Flags
        {
            get { return (ArrayFlags)Native.via_array_flags(this); }
        }

        /// <summary>Whether it may not be written.</summary>
        public bool IsReadOnly
        {
            get { return (Flags & ArrayFlags.ReadOnly) != 0; }
        }

        /// <summary>Returns whether no known work still writes the content.</summary>
        public bool IsReady
        {
            get { return Native.via_array_is_ready(this) != 0; }
        }

        /// <summary>
        /// Returns whether Dispose may wait for all work of a device, because it frees device, pinned or managed memory,
        /// or ends that of another process: call it on a thread that may wait, without locks that this work needs.
        /// </summary>
        public bool DisposeWaits
        {
            get { return Native.via_array_release_waits(this) != 0; }
        }

        /// <summary>
        /// The object that keeps the memory: what was given as the owner when it was wrapped, or the C# array that it
        /// is of, or the Memory of no C# array. Null for memory that came from elsewhere.
        /// </summary>
        public object Owner
        {
            get
            {
                using (new Hold(this))
                {
                    IntPtr context = Native.via_array_context(this, Callbacks.ReleaseBorrowedAddress);
                    return context == IntPtr.Zero ? null : BorrowedMemory.OwnerOf(Callbacks.Look(context));
                }
            }
        }

        /// <summary>Returns whether the array is dense in that order.</summary>
        public bool IsContiguous(MemoryOrder order = MemoryOrder.RowMajor)
        {
            return Native.via_array_is_contiguous(this, (int)order) != 0;
        }

        /// <summary>Waits until the content is ready.</summary>
        public void Synchronize()
        {
            Native.via_array_synchronize(this);
        }

        /// <summary>Records that the stream's work so far uses the memory; its release waits for that work.</summary>
        public void RecordStream(ViaStream stream)
        {
            Native.via_array_record_stream(this, stream);
        }

        /// <summary>Records that the stream's work so far writes the content; reads and exports wait for it.</summary>
        public void SetReady(ViaStream stream)
        {
            Native.via_array_set_ready(this, stream);
        }

        /// <summary>The same array with a share of its own.</summary>
        public ViaArray Share()
        {
            return new ViaArray(Retained(Native.via_array_retain));
        }

        /// <summary>As in "float32 [480, 640] Cpu:0".</summary>
        public override string ToString()
        {
            return IsClosed ? "closed array" : DType + " [" + string.Join(", ", Shape.ToArray()) + "] " + Device;
        }

        private sealed class Facts
        {
            internal long[] Shape;
            internal long[] Strides;
            internal long[] ByteStrides;
            internal SpanFacts Span;
        }

        private sealed class Handle : OwnedHandle
        {
            internal Handle(IntPtr address)
                : base(address)
            {
            }

            protected override bool ReleaseHandle()
            {
                Native.via_array_release(handle);
                return true;
            }
        }

        private Facts Known
        {
            get { return facts ?? (facts = new Facts()); }
        }

        // It is held even where all is known, since that refuses an array that was closed.
        private ReadOnlySpan<long> PerAxis(ref long[] known, Func<ViaArray, IntPtr> borrow)
        {
            using (new Hold(this))
            {
                return known ?? (known = Read(borrow(this), NDim));
            }
        }

        private static long[] Read(IntPtr borrowed, int ndim)
        {
            long[] read = new long[borrowed == IntPtr.Zero ? 0 : ndim];
            if (read.Length > 0)
            {
                Marshal.Copy(borrowed, read, 0, read.Length);
            }
            return read;
        }
    }
}
