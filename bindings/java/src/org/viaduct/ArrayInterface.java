package org.viaduct;

import java.util.Arrays;

/**
 * What NumPy's __array_interface__ and the __cuda_array_interface__ (both version 3) hold.
 *
 * @param address 0 if there are no elements
 * @param typestr as NumPy writes it: {@code "<f4"}
 * @param strides in bytes; null for row-major
 * @param stream CUDA's only: 1 legacy, 2 per-thread, else the address of a CUstream; null if none is meant
 */
public record ArrayInterface(
        long address, String typestr, long[] shape, long[] strides, boolean readOnly, Long stream) {
    private static final int VERSION = 3;

    static ArrayInterface read(long struct) {
        int ndim = Native.via_array_interface_ndim_get(struct);
        boolean hasStrides = Native.via_array_interface_has_strides_get(struct) != 0;
        boolean hasStream = Native.via_array_interface_has_stream_get(struct) != 0;
        return new ArrayInterface(
                Native.via_array_interface_address_get(struct),
                Utf8.text(Native.via_array_interface_typestr_get(struct)),
                Arrays.copyOf(Native.via_array_interface_shape_get(struct), ndim),
                hasStrides ? Arrays.copyOf(Native.via_array_interface_strides_get(struct), ndim) : null,
                Native.via_array_interface_read_only_get(struct) != 0,
                hasStream ? Native.via_array_interface_stream_get(struct) : null);
    }

    @Override
    public String toString() {
        return "ArrayInterface[address=" + address + ", typestr=" + typestr + ", shape=" + Arrays.toString(shape)
                + ", strides=" + Arrays.toString(strides) + ", readOnly=" + readOnly + ", stream=" + stream + "]";
    }

    void write(long struct) {
        ViaductException.requireOneForEachAxis("strides", strides, shape.length);
        Native.via_array_interface_version_set(struct, VERSION);
        Native.via_array_interface_ndim_set(struct, shape.length);
        Native.via_array_interface_read_only_set(struct, readOnly ? 1 : 0);
        Native.via_array_interface_has_strides_set(struct, strides != null ? 1 : 0);
        Native.via_array_interface_has_stream_set(struct, stream != null ? 1 : 0);
        Native.via_array_interface_stream_set(struct, stream != null ? stream : 0);
        Native.via_array_interface_address_set(struct, address);
        Native.via_array_interface_shape_set(struct, shape);
        Native.via_array_interface_strides_set(struct, strides);
        Native.via_array_interface_typestr_set(struct, Utf8.bytes(typestr));
    }
}
