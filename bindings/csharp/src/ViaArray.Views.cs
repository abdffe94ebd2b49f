using System;

namespace Viaduct
{
    // Views share the memory and hold it. None copies: where only a copy could do it there is a ViaNeedsCopyException.
    public sealed partial class ViaArray
    {
        /// <summary>
        /// <paramref name="count"/> elements of each axis, from <paramref name="start"/> on, <paramref name="step"/>
        /// apart (negative goes backwards). Null means from 0 on, as many as there are, next to each other.
        /// </summary>
        public ViaArray Slice(long[] start, long[] count = null, long[] step = null)
        {
            int axes = NDim;
            CheckLength(start, axes, "start");
            CheckLength(count, axes, "count");
            CheckLength(step, axes, "step");
            Native.via_array_slice(this, start, count, step, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same for one axis, the others being whole. Negative axes count from the end.</summary>
        public ViaArray SliceAxis(int axis, long start, long count, long step = 1)
        {
            long[] starts = new long[NDim];
            long[] counts = Shape.ToArray();
            long[] steps = new long[starts.Length];
            int index = axis < 0 ? axis + starts.Length : axis;
            if (index < 0 || index >= starts.Length)
            {
                throw new ViaIndexException("ViaArray.SliceAxis: axis is " + axis + "; expected one of "
                    + starts.Length + " axes");
            }
            for (int i = 0; i < steps.Length; ++i)
            {
                steps[i] = 1;
            }
            starts[index] = start;
            counts[index] = count;
            steps[index] = step;
            return Slice(starts, counts, steps);
        }

        /// <summary>The array without an axis, at one index along it; both count from the end if negative.</summary>
        public ViaArray Select(int axis, long index)
        {
            Native.via_array_select(this, axis, index, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Axis i of the view is axis axes[i] of the array; without axes they are reversed.</summary>
        public ViaArray Permute(params int[] axes)
        {
            int[] given = axes == null || axes.Length == 0 ? null : axes;
            CheckLength(given, NDim, "axes");
            Native.via_array_permute(this, given, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The axes in reverse.</summary>
        public ViaArray Transpose()
        {
            return Permute();
        }

        /// <summary>The same elements in row-major order under another shape; one extent may be -1.</summary>
        public ViaArray Reshape(params long[] shape)
        {
            CheckExtents(shape, null);
            Native.via_array_reshape(this, shape.Length, shape, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public ViaArray Reshape(ReadOnlySpan<long> shape)
        {
            return Reshape(shape.ToArray());
        }

        /// <summary>Repeats extents of 1, and adds axes in front; the result is read-only.</summary>
        public ViaArray Broadcast(params long[] shape)
        {
            CheckExtents(shape, null);
            Native.via_array_broadcast(this, shape.Length, shape, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public ViaArray Broadcast(ReadOnlySpan<long> shape)
        {
            return Broadcast(shape.ToArray());
        }

        /// <summary>Drops the axes named, each of extent 1; without any, every axis of extent 1.</summary>
        public ViaArray Squeeze(params int[] axes)
        {
            int count = axes == null ? 0 : axes.Length;
            Native.via_array_squeeze(this, count, count == 0 ? null : axes, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>Adds an axis of extent 1 so that it becomes <paramref name="axis"/>.</summary>
        public ViaArray Expand(int axis)
        {
            Native.via_array_expand(this, axis, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same bytes as elements of another dtype.</summary>
        public ViaArray Reinterpret(DType dtype)
        {
            Native.via_array_reinterpret(this, dtype.Value, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>One field of every element; a shape is appended if the field is itself an array.</summary>
        public ViaArray Field(long byteOffset, DType dtype, params long[] shape)
        {
            CheckExtents(shape, null);
            Native.via_array_field(this, byteOffset, dtype.Value, shape.Length, shape, out IntPtr made);
            return new ViaArray(made);
        }

        /// <summary>The same, with a shape such as <see cref="Shape"/>.</summary>
        public ViaArray Field(long byteOffset, DType dtype, ReadOnlySpan<long> shape)
        {
            return Field(byteOffset, dtype, shape.ToArray());
        }

        /// <summary>Returns a read-only view.</summary>
        public ViaArray AsReadOnly()
        {
            Native.via_array_as_read_only(this, out IntPtr made);
            return new ViaArray(made);
        }
    }
}
