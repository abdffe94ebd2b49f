using System;

namespace Viaduct
{
    /// <summary>The bytes that an array touches, counted from its address.</summary>
    internal struct ByteRange
    {
        internal long First;
        internal long End;

        /// <summary>Of no elements, none. OverflowException beyond 2^63 - 1 bits.</summary>
        internal static ByteRange Of(DType dtype, long[] shape, long[] strides, bool inBytes)
        {
            long bits = dtype.Bits;
            long dense = bits;
            long below = 0;
            long above = 0;
            for (int axis = shape.Length - 1; axis >= 0; --axis)
            {
                if (shape[axis] <= 0)
                {
                    return new ByteRange();
                }
                long step = strides == null ? dense : checked(strides[axis] * (inBytes ? 8 : bits));
                long last = checked(step * (shape[axis] - 1));
                below = checked(below + Math.Min(last, 0));
                above = checked(above + Math.Max(last, 0));
                dense = strides == null ? checked(dense * shape[axis]) : dense;
            }
            return new ByteRange { First = (below - 7) / 8, End = checked(above + bits + 7) / 8 };
        }

        /// <summary>Refuses bytes before the address, and bytes at or after so many from it.</summary>
        internal void RequireBound(long nbytes)
        {
            if (First < 0)
            {
                throw new ViaPointerException(
                    "ViaArray.Wrap: strides reach " + -First + " bytes before the address; expected none");
            }
            if (End > nbytes)
            {
                throw new ViaPointerException("ViaArray.Wrap: nbytes is " + nbytes + "; expected " + End
                    + " or more for that shape and dtype");
            }
        }
    }
}
