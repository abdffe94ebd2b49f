package org.viaduct;

/** The bytes from `first` to before `end`, counted from an array's element with index 0 everywhere. */
record Reach(long first, long end) {
    /** What an array of that layout touches; nothing if it is one that the library refuses. */
    static Reach of(DType dtype, long[] shape, long[] strides, boolean inBytes) {
        if (strides != null && strides.length != shape.length) {
            return new Reach(0, 0);
        }
        try {
            return counted(dtype, shape, strides, inBytes);
        } catch (ArithmeticException overflow) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_OVERFLOW,
                    "shape reaches over more than 2^63 - 1 bits; expected an array that the buffer holds");
        }
    }

    private static Reach counted(DType dtype, long[] shape, long[] strides, boolean inBytes) {
        long bits = dtype.bits();
        long below = 0;
        long above = 0;
        long dense = bits;
        for (int axis = shape.length - 1; axis >= 0; --axis) {
            if (shape[axis] <= 0) {
                return new Reach(0, 0);
            }
            long step = strides == null ? dense : Math.multiplyExact(strides[axis], inBytes ? 8 : bits);
            long last = Math.multiplyExact(step, shape[axis] - 1);
            below = Math.addExact(below, Math.min(last, 0));
            above = Math.addExact(above, Math.max(last, 0));
            dense = strides == null ? Math.multiplyExact(dense, shape[axis]) : dense;
        }
        return new Reach(Math.floorDiv(below, 8), Math.floorDiv(Math.addExact(above, bits + 7), 8));
    }

    void requireWithin(Reach wanted) {
        if (wanted.first < first || wanted.end > end) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    "shape takes the bytes " + wanted.first + " to " + wanted.end + " from the first element on; "
                            + "expected them within " + first + " to " + end + ", which the buffer holds");
        }
    }
}
