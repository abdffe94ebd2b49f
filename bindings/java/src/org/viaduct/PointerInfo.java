package org.viaduct;

/**
 * The allocation that an address points to.
 *
 * @param baseAddress start of the allocation, and nbytes its size; both 0 if the driver does not say
 */
public record PointerInfo(Device device, boolean readOnly, long baseAddress, long nbytes) {
    static PointerInfo read(long struct) {
        return new PointerInfo(
                new Device(
                        Native.via_pointer_info_device_type_get(struct),
                        Native.via_pointer_info_device_id_get(struct)),
                Native.via_pointer_info_read_only_get(struct) != 0,
                Native.via_pointer_info_base_address_get(struct),
                Native.via_pointer_info_nbytes_get(struct));
    }
}
