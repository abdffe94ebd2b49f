using System;
using System.Buffers;
using System.Runtime.InteropServices;

namespace Viaduct
{
    public sealed partial class ViaArray
    {
        /// <summary>A row-major array of ordinary host memory that outlives every use.</summary>
        public static ViaArray Wrap(IntPtr address, DType dtype, params long[] shape)
        {
            return Wrap(address, dtype, shape, null);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Wrap(IntPtr address, DType dtype, ReadOnlySpan<long> shape)
        {
            return WrapHeld(address, dtype, shape, null, Device.Cpu, WrapFlags.None, IntPtr.Zero);
        }

        /// <summary>
        /// An array of memory that exists; nothing is copied. If this throws, <paramref name="release"/> is not called
        /// and the memory is as it was.
        /// </summary>
        /// <param name="address">The element with index 0 everywhere.</param>
        /// <param name="dtype">The element type.</param>
        /// <param name="shape">The extents.</param>
        /// <param name="strides">
        /// A step in elements for each extent, in bytes with <see cref="WrapFlags.ByteStrides"/>; null for row-major.
        /// </param>
        /// <param name="device">Where the memory is; null for ordinary host memory.</param>
        /// <param name="flags">What is to be done and what not.</param>
        /// <param name="release">
        /// Called once when nobody uses the memory any more, on whichever thread releases it last.
        /// </param>
        /// <param name="owner">An object to be kept alive until then; <see cref="Owner"/> reports it.</param>
        /// <param name="nbytes">
        /// If given, every element must lie within so many bytes from the address on.
        /// </param>
        public static ViaArray Wrap(
            IntPtr address,
            DType dtype,
            long[] shape,
            long[] strides,
            Device? device = null,
            WrapFlags flags = WrapFlags.None,
            Action release = null,
            object owner = null,
            long? nbytes = null)
        {
            CheckExtents(shape, strides);
            CheckBound(dtype, shape, strides, flags, nbytes);
            IntPtr context = Callbacks.Give(BorrowedMemory.Of(owner, release));
            return WrapHeld(address, dtype, shape, strides, device ?? Device.Cpu, flags, context);
        }

        /// <summary>
        /// A C# array of any rank as an array of the same elements in place; it is pinned until nobody uses the memory
        /// any more. Another shape may be given, of as many elements at most.
        /// </summary>
        public static ViaArray Wrap(Array values, params long[] shape)
        {
            return Wrap(values, shape.AsSpan());
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public static unsafe ViaArray Wrap(Array values, ReadOnlySpan<long> shape)
        {
            if (values == null)
            {
                throw new ArgumentNullException("values");
            }
            long* extents = stackalloc long[values.Rank];
            for (int axis = 0; axis < values.Rank; ++axis)
            {
                extents[axis] = values.GetLongLength(axis);
            }
            ReadOnlySpan<long> given = shape.IsEmpty ? new ReadOnlySpan<long>(extents, values.Rank) : shape;
            CheckFits(given, values.LongLength);
            IntPtr context = Callbacks.Pin(values);
            IntPtr address = Callbacks.HandleOf(context).AddrOfPinnedObject();
            return WrapHeld(address, DTypeOf(values, context), given, null, Device.Cpu, WrapFlags.None, context);
        }

        /// <summary>Memory as an array, pinned until nobody uses it; without a shape, of one dimension.</summary>
        public static ViaArray Wrap<T>(Memory<T> memory, params long[] shape)
            where T : struct
        {
            return Wrap(memory, shape.AsSpan());
        }

        /// <summary>The same for memory that may not be written.</summary>
        public static ViaArray Wrap<T>(ReadOnlyMemory<T> memory, params long[] shape)
            where T : struct
        {
            return Wrap(memory, shape.AsSpan());
        }

        /// <summary>Memory as an array, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Wrap<T>(Memory<T> memory, ReadOnlySpan<long> shape)
            where T : struct
        {
            return WrapMemory<T>(memory, shape, WrapFlags.None);
        }

        /// <summary>The same for memory that may not be written.</summary>
        public static ViaArray Wrap<T>(ReadOnlyMemory<T> memory, ReadOnlySpan<long> shape)
            where T : struct
        {
            return WrapMemory<T>(memory, shape, WrapFlags.ReadOnly);
        }

        /// <summary>
        /// A new row-major array, its elements not initialised; in host memory unless another is given. The stream
        /// orders the allocation where the memory is allocated in stream order.
        /// </summary>
        public static ViaArray Empty(DType dtype, long[] shape, ViaMemory memory = null, ViaStream stream = null)
        {
            CheckExtents(shape, null);
            return Empty(dtype, shape.AsSpan(), memory, stream);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Empty(
            DType dtype, ReadOnlySpan<long> shape, ViaMemory memory = null, ViaStream stream = null)
        {
            Native.via_empty(
                memory ?? ViaMemory.None, dtype.Value, shape.Length, shape, stream ?? ViaStream.None, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>A new row-major array in host memory, its elements not initialised.</summary>
        public static ViaArray Empty(DType dtype, params long[] shape)
        {
            return Empty(dtype, shape, null);
        }

        // A C# array behind it is pinned itself: no other object has to be kept.
        private static unsafe ViaArray WrapMemory<T>(
            ReadOnlyMemory<T> memory, ReadOnlySpan<long> shape, WrapFlags flags)
            where T : struct
        {
            ArraySegment<T> segment;
            long whole = memory.Length;
            ReadOnlySpan<long> extents = shape.IsEmpty ? new ReadOnlySpan<long>(&whole, 1) : shape;
            DType dtype = DType.Of<T>();
            CheckFits(extents, memory.Length);
            if (MemoryMarshal.TryGetArray(memory, out segment) && segment.Array != null)
            {
                IntPtr context = Callbacks.Pin(segment.Array);
                IntPtr address = Marshal.UnsafeAddrOfPinnedArrayElement(segment.Array, segment.Offset);
                return WrapHeld(address, dtype, extents, null, Device.Cpu, flags, context);
            }
            MemoryHandle pinned = memory.Pin();
            try
            {
                IntPtr context = Callbacks.Give(new BorrowedMemory(memory, pinned));
                return WrapHeld((IntPtr)pinned.Pointer, dtype, extents, null, Device.Cpu, flags, context);
            }
            catch
            {
                pinned.Dispose();
                throw;
            }
        }

        private static DType DTypeOf(Array pinned, IntPtr context)
        {
            try
            {
                return DType.OfPinned(pinned);
            }
            catch
            {
                Callbacks.TakeBack(context);
                throw;
            }
        }

        // A failed call never releases the memory: the context is taken back here.
        private static ViaArray WrapHeld(
            IntPtr address, DType dtype, ReadOnlySpan<long> shape, ReadOnlySpan<long> strides, Device device,
            WrapFlags flags, IntPtr context)
        {
            IntPtr made;
            try
            {
                Native.via_wrap(
                    address, dtype.Value, shape.Length, shape, strides, (int)device.Type, device.Id, (int)flags,
                    Callbacks.ReleaseOf(context), context, out made);
            }
            catch
            {
                Callbacks.TakeBack(context);
                throw;
            }
            return new ViaArray(made);
        }

        private static void CheckExtents(long[] shape, long[] strides)
        {
            if (shape == null)
            {
                throw new ArgumentNullException("shape");
            }
            CheckLength(strides, shape.Length, "strides");
        }

        private static void CheckBound(DType dtype, long[] shape, long[] strides, WrapFlags flags, long? nbytes)
        {
            if (nbytes == null)
            {
                return;
            }
            if (nbytes < 0)
            {
                throw new ViaInvalidArgumentException("ViaArray.Wrap: nbytes is " + nbytes + "; expected 0 or more");
            }
            try
            {
                ByteRange.Of(dtype, shape, strides, (flags & WrapFlags.ByteStrides) != 0).RequireBound(nbytes.Value);
            }
            catch (OverflowException)
            {
                throw new ViaOverflowException(
                    "ViaArray.Wrap: shape reaches over more than 2^63 - 1 bits; expected an array within nbytes");
            }
        }

        // The library reads one number for each axis.
        internal static void CheckLength(Array given, int axes, string parameter)
        {
            if (given != null && given.Length != axes)
            {
                throw new ViaShapeException(
                    parameter + " has " + given.Length + " entries; expected one for each of " + axes + " axes");
            }
        }

        private static void CheckFits(ReadOnlySpan<long> shape, long available)
        {
            if (CountUpTo(available, shape) < 0)
            {
                throw new ViaShapeException(
                    "ViaArray.Wrap: shape is [" + string.Join(", ", shape.ToArray()) + "]; expected at most "
                    + available + " elements");
            }
        }

        // The number of elements; -1 if an extent is negative or there are more than `limit`.
        private static long CountUpTo(long limit, ReadOnlySpan<long> shape)
        {
            long count = shape.IndexOf(0L) < 0 ? 1 : 0;
            foreach (long extent in shape)
            {
                if (extent < 0 || (count > 0 && count > limit / extent))
                {
                    return -1;
                }
                count *= extent;
            }
            return count > limit ? -1 : count;
        }
    }
}
