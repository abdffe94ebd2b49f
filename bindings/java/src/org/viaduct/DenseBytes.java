package org.viaduct;

/** A range of an array's elements as bytes of host memory without gaps. */
record DenseBytes(long address, long count, boolean readOnly) {
    static DenseBytes of(ViaArray array, long offset, long count) {
        Layout layout = array.layout();
        if (offset < 0 || count < 0 || offset > layout.size - count) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INDEX,
                    "offset is " + offset + " and count " + count + "; expected them within " + layout.size
                            + " elements");
        }
        if (!layout.device.isHost()) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_DEVICE, "array is in memory of " + layout.device + "; expected host memory");
        }
        if (!array.isContiguous(MemoryOrder.ROW_MAJOR)) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_NEEDS_COPY,
                    "array is " + array + " with gaps or in another order; expected dense row-major elements");
        }
        long first = bytesOf(layout, offset);
        boolean readOnly = (layout.flags & ViaConstants.VIA_ARRAY_READ_ONLY) != 0;
        return new DenseBytes(layout.address + first, bytesOf(layout, offset + count) - first, readOnly);
    }

    /** Bytes of the first so many elements. */
    private static long bytesOf(Layout layout, long elements) {
        long bits = (layout.flags & ViaConstants.VIA_ARRAY_SUBBYTE_PADDED) != 0 ? 8 : layout.dtype.bits();
        long all = Math.multiplyExact(elements, bits);
        if (all % 8 != 0 && elements != layout.size) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_NEEDS_COPY,
                    "offset and count end inside a byte, at bit " + all + "; expected whole bytes");
        }
        return (all + 7) / 8;
    }
}
