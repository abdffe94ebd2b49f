package org.viaduct;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.LongUnaryOperator;

/**
 * Options of a conversion.
 *
 * @param casting which conversions are allowed
 * @param overflow what floats too large for a destination of at most 8 bits become
 * @param byteOrder that of the elements of the source
 * @param scale what floats are made of: each number times this, plus the offset; one, or one for each index of the
 *     axis; null for no change
 * @param offset as the scale
 * @param scaleAxis the axis of the destination that both go along; a negative one counts from the end
 */
public record ConvertOptions(
        Casting casting, FloatOverflow overflow, ByteOrder byteOrder, float[] scale, float[] offset, int scaleAxis) {
    /** The default: same_kind, infinity, this machine's order. */
    public static final ConvertOptions DEFAULT =
            new ConvertOptions(Casting.SAME_KIND, FloatOverflow.INFINITY, ByteOrder.nativeOrder());

    /** Options without a scale and an offset. */
    public ConvertOptions(Casting casting, FloatOverflow overflow, ByteOrder byteOrder) {
        this(casting, overflow, byteOrder, null, null, 0);
    }

    public ConvertOptions casting(Casting chosen) {
        return new ConvertOptions(chosen, overflow, byteOrder, scale, offset, scaleAxis);
    }

    public ConvertOptions overflow(FloatOverflow chosen) {
        return new ConvertOptions(casting, chosen, byteOrder, scale, offset, scaleAxis);
    }

    public ConvertOptions byteOrder(ByteOrder chosen) {
        return new ConvertOptions(casting, overflow, chosen, scale, offset, scaleAxis);
    }

    /** Has every number multiplied and added to, in float32. */
    public ConvertOptions scaled(float byScale, float plusOffset) {
        return scaled(new float[] {byScale}, new float[] {plusOffset}, 0);
    }

    /** The same with a pair for each index of an axis; null for no change, one number for all indices. */
    public ConvertOptions scaled(float[] scales, float[] offsets, int axis) {
        return new ConvertOptions(casting, overflow, byteOrder, scales, offsets, axis);
    }

    /** Makes a call with the struct of the options; with NULL for null. */
    static long with(ConvertOptions options, LongUnaryOperator call) {
        if (options == null) {
            return call.applyAsLong(0);
        }
        int count = Math.max(lengthOf(options.scale), lengthOf(options.offset));
        ByteBuffer scales = direct(options.scale, count);
        ByteBuffer offsets = direct(options.offset, count);
        try {
            return Struct.used(Native.new_via_convert_options(), Native::delete_via_convert_options, at -> {
                options.write(at, count, scales, offsets);
                return call.applyAsLong(at);
            });
        } finally {
            Reference.reachabilityFence(scales);
            Reference.reachabilityFence(offsets);
        }
    }

    private static int lengthOf(float[] numbers) {
        return numbers == null ? 0 : numbers.length;
    }

    /** As many numbers in memory that the library reads; one number is repeated, and a wrong length is refused there. */
    private static ByteBuffer direct(float[] numbers, int count) {
        if (numbers == null) {
            return null;
        }
        if (count == 0 || (numbers.length != 1 && numbers.length != count)) {
            throw Buffers.refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    "scale and offset have lengths " + numbers.length + " and " + count + "; expected equal ones, or 1, and not 0");
        }
        if (count > Integer.MAX_VALUE / Float.BYTES) {
            throw Buffers.refused(
                    ViaConstants.VIA_ERROR_SHAPE,
                    "scale or offset has length " + count + "; expected at most " + Integer.MAX_VALUE / Float.BYTES);
        }
        ByteBuffer bytes = ByteBuffer.allocateDirect(Float.BYTES * count).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; ++i) {
            bytes.putFloat(Float.BYTES * i, numbers[numbers.length == 1 ? 0 : i]);
        }
        return bytes;
    }

    private void write(long struct, int count, ByteBuffer scales, ByteBuffer offsets) {
        Native.via_convert_options_scale_set(struct, scales == null ? 0 : Buffers.address(scales));
        Native.via_convert_options_offset_set(struct, offsets == null ? 0 : Buffers.address(offsets));
        Native.via_convert_options_scale_count_set(struct, count);
        Native.via_convert_options_scale_axis_set(struct, scaleAxis);
        boolean big = byteOrder == ByteOrder.BIG_ENDIAN;
        Native.via_convert_options_casting_set(struct, casting.code);
        Native.via_convert_options_overflow_set(struct, overflow.code);
        Native.via_convert_options_byte_order_set(
                struct, big ? ViaConstants.VIA_BYTE_ORDER_BIG : ViaConstants.VIA_BYTE_ORDER_LITTLE);
    }
}
