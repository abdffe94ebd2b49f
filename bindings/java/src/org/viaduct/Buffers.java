package org.viaduct;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Direct buffers: what of them is memory, and memory as one of them. */
final class Buffers {
    private Buffers() {}

    /** Where a direct buffer's memory begins, whatever its position. */
    static long address(Buffer buffer) {
        if (!buffer.isDirect()) {
            throw refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "buffer is " + buffer + " on the heap; expected a direct buffer");
        }
        return Bridge.address(buffer);
    }

    /** Bytes of one number in a buffer. */
    static int width(Buffer buffer) {
        return (int) (DType.of(buffer).bits() / 8);
    }

    /** Elements of more than a byte mean what the machine means by them. */
    static void requireNativeOrder(Buffer buffer, DType dtype) {
        if (order(buffer) != ByteOrder.nativeOrder() && dtype.bits() > 8) {
            throw refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "buffer is in byte order " + order(buffer) + "; expected " + ByteOrder.nativeOrder()
                            + ": buffer.order(ByteOrder.nativeOrder())");
        }
    }

    private static ByteOrder order(Buffer buffer) {
        if (buffer instanceof ByteBuffer bytes) {
            return bytes.order();
        } else if (buffer instanceof FloatBuffer floats) {
            return floats.order();
        } else if (buffer instanceof DoubleBuffer doubles) {
            return doubles.order();
        } else if (buffer instanceof IntBuffer ints) {
            return ints.order();
        } else if (buffer instanceof LongBuffer longs) {
            return longs.order();
        } else if (buffer instanceof ShortBuffer shorts) {
            return shorts.order();
        }
        return ((CharBuffer) buffer).order();
    }

    static ByteBuffer of(ViaArray array, long offset, long count) {
        Layout layout = array.layout();
        if (offset < 0 || count < 0 || offset > layout.size - count) {
            throw refused(
                    ViaConstants.VIA_ERROR_INDEX,
                    "offset is " + offset + " and count " + count + "; expected them within " + layout.size
                            + " elements");
        }
        if (!layout.device.isHost()) {
            throw refused(
                    ViaConstants.VIA_ERROR_DEVICE, "array is in memory of " + layout.device + "; expected host memory");
        }
        if (!array.isContiguous(MemoryOrder.ROW_MAJOR)) {
            throw refused(
                    ViaConstants.VIA_ERROR_NEEDS_COPY,
                    "array is " + array + " with gaps or in another order; expected dense row-major elements");
        }
        return kept(array, layout, bytesOf(layout, offset), bytesOf(layout, offset + count));
    }

    /** Bytes of the first so many elements. */
    private static long bytesOf(Layout layout, long elements) {
        long bits = (layout.flags & ViaConstants.VIA_ARRAY_SUBBYTE_PADDED) != 0 ? 8 : layout.dtype.bits();
        long all = Math.multiplyExact(elements, bits);
        if (all % 8 != 0 && elements != layout.size) {
            throw refused(
                    ViaConstants.VIA_ERROR_NEEDS_COPY,
                    "offset and count end inside a byte, at bit " + all + "; expected whole bytes");
        }
        return (all + 7) / 8;
    }

    private static ByteBuffer kept(ViaArray array, Layout layout, long from, long to) {
        if (to - from > Integer.MAX_VALUE) {
            throw refused(
                    ViaConstants.VIA_ERROR_OVERFLOW,
                    "buffer has " + (to - from) + " bytes; expected at most " + Integer.MAX_VALUE
                            + ": take it by offset and count");
        }
        array.synchronize();
        if (to == from) {
            return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());
        }
        ByteBuffer bytes = Bridge.buffer(layout.address + from, to - from);
        new Handle(bytes, Calls.get(array, Buffers::retained), Native::via_array_release);
        boolean readOnly = (layout.flags & ViaConstants.VIA_ARRAY_READ_ONLY) != 0;
        return (readOnly ? bytes.asReadOnlyBuffer() : bytes).order(ByteOrder.nativeOrder());
    }

    private static ViaductException refused(int status, String text) {
        return ViaductException.refused(status, text);
    }

    private static long retained(long array) {
        Native.via_array_retain(array);
        return array;
    }
}
