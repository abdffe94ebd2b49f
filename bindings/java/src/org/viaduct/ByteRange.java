package org.viaduct;

/** The bytes from `first` to before `end`, counted from an array's element with index 0 everywhere. */
record ByteRange(long first, long end) {
    /** What an array of that layout touches; nothing if it is one that the library refuses. */
    static ByteRange of(DType dtype, long[] shape, long[] strides, boolean inBytes) {
        if (strides != null && strides.length != shape.length) {
            return new ByteRange(0, 0);
        }
        try {
            return counted(dtype, shape, strides, inBytes);
        } catch (ArithmeticException overflow) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_OVERFLOW,
                    "shape reaches over more than 2^63 - 1 bits; expected an array that the memory holds");
        }
    }

    private static ByteRange counted(DType dtype, long[] shape, long[] strides, boolean inBytes) {
        long bits = dtype.bits();
        long below = 0;
        long above = 0;
        long dense = bits;
        for (int axis = shape.length - 1; axis >= 0; --axis) {
            if (shape[axis] <= 0) {
                return new ByteRange(0, 0);
            }
            long step = strides == null ? dense : Math.multiplyExact(strides[axis], inBytes ? 8 : bits);
            long last = Math.multiplyExact(step, shape[axis] - 1);
            below = Math.addExact(below, Math.min(last, 0));
            above = Math.addExact(above, Math.max(last, 0));
            dense = strides == null ? Math.multiplyExact(dense, shape[axis]) : dense;
        }
        return new ByteRange(Math.floorDiv(below, 8), Math.floorDiv(Math.addExact(above, bits + 7), 8));
    }

    /** Refuses bytes before the address, and bytes at or after {@code nbytes} from it. */
    void requireBound(long nbytes) {
        if (first < 0) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_POINTER,
                    "strides reach " + -first + " bytes before the address; expected none");
        }
        if (end > nbytes) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_POINTER,
                    "nbytes is " + nbytes + "; expected " + end + " or more for that shape and dtype");
        }
    }

    void requireWithin(ByteRange wanted) {
        if (wanted.first < first || wanted.end > end) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    "shape has the bytes " + wanted.first + " to " + wanted.end + " from the first element on; "
                            + "expected them within " + first + " to " + end + ", which the buffer holds");
        }
    }
}
