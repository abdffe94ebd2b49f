package org.viaduct;

import java.util.function.LongUnaryOperator;

/**
 * What is asked of a DLPack export or import.
 *
 * @param maxMajor newest DLPack version that the consumer takes, with maxMinor; 0 and 0 for no limit
 * @param target where the result must be; {@link Device#ANY} for where it is
 */
public record DlpackOptions(int maxMajor, int maxMinor, Device target, CopyMode copy) {
    /** The defaults. */
    public static final DlpackOptions DEFAULT = new DlpackOptions(0, 0, Device.ANY, CopyMode.IF_NEEDED);

    public DlpackOptions maxVersion(int major, int minor) {
        return new DlpackOptions(major, minor, target, copy);
    }

    public DlpackOptions to(Device device) {
        return new DlpackOptions(maxMajor, maxMinor, device, copy);
    }

    public DlpackOptions copy(CopyMode mode) {
        return new DlpackOptions(maxMajor, maxMinor, target, mode);
    }

    /** Makes a call with the struct of the options; with NULL for null. */
    static long with(DlpackOptions options, LongUnaryOperator call) {
        if (options == null) {
            return call.applyAsLong(0);
        }
        long struct = Native.new_via_dlpack_options();
        return Struct.used(struct, Native::delete_via_dlpack_options, at -> {
            options.write(at);
            return call.applyAsLong(at);
        });
    }

    private void write(long struct) {
        Native.via_dlpack_options_max_major_set(struct, maxMajor);
        Native.via_dlpack_options_max_minor_set(struct, maxMinor);
        Native.via_dlpack_options_target_device_type_set(struct, target.type());
        Native.via_dlpack_options_target_device_id_set(struct, target.id());
        Native.via_dlpack_options_copy_set(struct, copy.code);
    }
}
