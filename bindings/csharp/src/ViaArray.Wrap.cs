using System;
using System.Buffers;

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
            return Wrap(address, dtype, shape.ToArray(), null);
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
            BorrowedMemory borrowed = release == null && owner == null ? null : new BorrowedMemory(owner, release);
            return WrapBorrowed(address, dtype, shape, strides, device ?? Device.Cpu, flags, borrowed);
        }

        /// <summary>
        /// A C# array of any rank as an array of the same elements in place; it is pinned until nobody uses the memory
        /// any more. Another shape may be given, of as many elements at most.
        /// </summary>
        public static ViaArray Wrap(Array values, params long[] shape)
        {
            if (values == null)
            {
                throw new ArgumentNullException("values");
            }
            long[] extents = shape == null || shape.Length == 0 ? ShapeOf(values) : shape;
            CheckFits(extents, values.LongLength);
            BorrowedMemory borrowed = new BorrowedMemory(values);
            try
            {
                return WrapBorrowed(borrowed.PinnedArray, DType.OfPinned(values), extents, null, Device.Cpu, WrapFlags.None, borrowed);
            }
            catch
            {
                borrowed.End();
                throw;
            }
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Wrap(Array values, ReadOnlySpan<long> shape)
        {
            return Wrap(values, shape.ToArray());
        }

        /// <summary>Memory as an array, pinned until nobody uses it; without a shape, of one dimension.</summary>
        public static ViaArray Wrap<T>(Memory<T> memory, params long[] shape)
            where T : struct
        {
            return WrapMemory<T>(memory, memory, shape, WrapFlags.None);
        }

        /// <summary>The same for memory that may not be written.</summary>
        public static ViaArray Wrap<T>(ReadOnlyMemory<T> memory, params long[] shape)
            where T : struct
        {
            return WrapMemory<T>(memory, memory, shape, WrapFlags.ReadOnly);
        }

        /// <summary>Memory as an array, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Wrap<T>(Memory<T> memory, ReadOnlySpan<long> shape)
            where T : struct
        {
            return Wrap(memory, shape.ToArray());
        }

        /// <summary>The same for memory that may not be written.</summary>
        public static ViaArray Wrap<T>(ReadOnlyMemory<T> memory, ReadOnlySpan<long> shape)
            where T : struct
        {
            return Wrap(memory, shape.ToArray());
        }

        /// <summary>
        /// A new row-major array, its elements not initialised; in host memory unless another is given. The stream
        /// orders the allocation where the memory is allocated in stream order.
        /// </summary>
        public static ViaArray Empty(DType dtype, long[] shape, ViaMemory memory = null, ViaStream stream = null)
        {
            IntPtr made;
            CheckExtents(shape, null);
            Native.via_empty(
                memory ?? ViaMemory.None, dtype.Value, shape.Length, shape, stream ?? ViaStream.None, out made);
            return new ViaArray(made);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public static ViaArray Empty(
            DType dtype, ReadOnlySpan<long> shape, ViaMemory memory = null, ViaStream stream = null)
        {
            return Empty(dtype, shape.ToArray(), memory, stream);
        }

        /// <summary>A new row-major array in host memory, its elements not initialised.</summary>
        public static ViaArray Empty(DType dtype, params long[] shape)
        {
            return Empty(dtype, shape, null);
        }

        private static unsafe ViaArray WrapMemory<T>(
            ReadOnlyMemory<T> memory, object owner, long[] shape, WrapFlags flags)
            where T : struct
        {
            long[] extents = shape == null || shape.Length == 0 ? new long[] { memory.Length } : shape;
            CheckFits(extents, memory.Length);
            MemoryHandle pinned = memory.Pin();
            BorrowedMemory borrowed = new BorrowedMemory(owner, pinned);
            try
            {
                return WrapBorrowed((IntPtr)pinned.Pointer, DType.Of<T>(), extents, null, Device.Cpu, flags, borrowed);
            }
            catch
            {
                borrowed.End();
                throw;
            }
        }

        // A failed call never releases the memory: the context is taken back here.
        private static ViaArray WrapBorrowed(
            IntPtr address, DType dtype, long[] shape, long[] strides, Device device, WrapFlags flags, BorrowedMemory borrowed)
        {
            IntPtr made;
            IntPtr release = borrowed == null ? IntPtr.Zero : Callbacks.ReleaseBorrowedAddress;
            IntPtr context = borrowed == null ? IntPtr.Zero : Callbacks.Give(borrowed);
            try
            {
                Native.via_wrap(
                    address, dtype.Value, shape.Length, shape, strides, (int)device.Type, device.Id, (int)flags,
                    release, context, out made);
            }
            catch
            {
                Callbacks.TakeBack(context);
                throw;
            }
            return new ViaArray(made);
        }

        private static long[] ShapeOf(Array values)
        {
            long[] shape = new long[values.Rank];
            for (int axis = 0; axis < shape.Length; ++axis)
            {
                shape[axis] = values.GetLongLength(axis);
            }
            return shape;
        }

        private static void CheckExtents(long[] shape, long[] strides)
        {
            if (shape == null)
            {
                throw new ArgumentNullException("shape");
            }
            CheckLength(strides, shape.Length, "strides");
        }

        // Sums that overflow are left to the library, which refuses them with its own reason.
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

        private static void CheckFits(long[] shape, long available)
        {
            if (CountUpTo(available, shape) < 0)
            {
                throw new ViaShapeException(
                    "ViaArray.Wrap: shape is [" + string.Join(", ", shape) + "]; expected at most "
                    + available + " elements");
            }
        }

        // The number of elements; -1 if an extent is negative or there are more than `limit`.
        private static long CountUpTo(long limit, long[] shape)
        {
            long count = Array.IndexOf(shape, 0L) < 0 ? 1 : 0;
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
