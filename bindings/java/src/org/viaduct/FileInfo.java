package org.viaduct;

import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Properties of a file.
 *
 * @param format raw or .npy
 * @param dtype .npy, window: of the elements; no valid type for a raw file
 * @param columnMajor whether the elements are in Fortran order
 * @param nbytes of the whole file, as it is now
 * @param byteOffset of the first element in the whole file; of a window, of the one of index 0
 * @param shape .npy, window: the extents; none for a raw file
 * @param byteOrder of the elements; reads and writes swap those that are not in this machine's
 */
public record FileInfo(
        FileFormat format,
        DType dtype,
        boolean columnMajor,
        long nbytes,
        long byteOffset,
        long[] shape,
        ByteOrder byteOrder) {
    @Override
    public String toString() {
        return "FileInfo[format=" + format + ", dtype=" + dtype + ", columnMajor=" + columnMajor + ", nbytes=" + nbytes
                + ", byteOffset=" + byteOffset + ", shape=" + Arrays.toString(shape) + ", byteOrder=" + byteOrder + "]";
    }

    private static ByteOrder orderOf(int code) {
        return code == ViaConstants.VIA_BYTE_ORDER_BIG
                ? ByteOrder.BIG_ENDIAN
                : code == ViaConstants.VIA_BYTE_ORDER_LITTLE ? ByteOrder.LITTLE_ENDIAN : ByteOrder.nativeOrder();
    }

    static FileInfo read(long struct) {
        boolean npy = Native.via_file_properties_file_format_get(struct) == ViaConstants.VIA_FORMAT_NPY;
        int ndim = Native.via_file_properties_ndim_get(struct);
        return new FileInfo(
                npy ? FileFormat.NPY : FileFormat.RAW,
                new DType(Native.via_file_properties_dtype_get(struct)),
                Native.via_file_properties_column_major_get(struct) != 0,
                Native.via_file_properties_nbytes_get(struct),
                Native.via_file_properties_byte_offset_get(struct),
                Arrays.copyOf(Native.via_file_properties_shape_get(struct), ndim),
                orderOf(Native.via_file_properties_byte_order_get(struct)));
    }
}
