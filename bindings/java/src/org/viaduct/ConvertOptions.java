package org.viaduct;

import java.nio.ByteOrder;
import java.util.function.LongUnaryOperator;

/**
 * Options of a conversion.
 *
 * @param casting which conversions are allowed
 * @param overflow what floats too large for a destination of at most 8 bits become
 * @param byteOrder that of the elements of the source
 */
public record ConvertOptions(Casting casting, FloatOverflow overflow, ByteOrder byteOrder) {
    /** The default: same_kind, infinity, this machine's order. */
    public static final ConvertOptions DEFAULT =
            new ConvertOptions(Casting.SAME_KIND, FloatOverflow.INFINITY, ByteOrder.nativeOrder());

    public ConvertOptions casting(Casting chosen) {
        return new ConvertOptions(chosen, overflow, byteOrder);
    }

    public ConvertOptions overflow(FloatOverflow chosen) {
        return new ConvertOptions(casting, chosen, byteOrder);
    }

    public ConvertOptions byteOrder(ByteOrder chosen) {
        return new ConvertOptions(casting, overflow, chosen);
    }

    /** Makes a call with the struct of the options; with NULL for null. */
    static long with(ConvertOptions options, LongUnaryOperator call) {
        if (options == null) {
            return call.applyAsLong(0);
        }
        long struct = Native.new_via_convert_options();
        return Struct.used(struct, Native::delete_via_convert_options, at -> {
            options.write(at);
            return call.applyAsLong(at);
        });
    }

    private void write(long struct) {
        boolean big = byteOrder == ByteOrder.BIG_ENDIAN;
        Native.via_convert_options_casting_set(struct, casting.code);
        Native.via_convert_options_overflow_set(struct, overflow.code);
        Native.via_convert_options_byte_order_set(
                struct, big ? ViaConstants.VIA_BYTE_ORDER_BIG : ViaConstants.VIA_BYTE_ORDER_LITTLE);
    }
}
