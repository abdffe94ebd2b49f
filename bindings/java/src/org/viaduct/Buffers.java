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
import java.util.Objects;

/** Direct buffers: what of them is memory, and memory as one of them. */
final class Buffers {
    private Buffers() {}

    /** Where a direct buffer's memory begins, whatever its position. */
    static long address(Buffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException("found a buffer on the heap, expected a direct one: " + buffer);
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
            throw new IllegalArgumentException(
                    "found a buffer in byte order " + order(buffer) + ", expected " + ByteOrder.nativeOrder()
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
        Objects.checkFromIndexSize(offset, count, layout.size);
        if (!layout.device.isHost()) {
            throw new UnsupportedOperationException("found memory of " + layout.device + ", expected the host's");
        }
        if (!array.isContiguous(MemoryOrder.ROW_MAJOR)) {
            throw new UnsupportedOperationException("found an array that is not dense in row-major order: " + array);
        }
        return kept(array, layout, bytesOf(layout, offset), bytesOf(layout, offset + count));
    }

    /** Bytes of the first so many elements. */
    private static long bytesOf(Layout layout, long elements) {
        long bits = (layout.flags & ViaConstants.VIA_ARRAY_SUBBYTE_PADDED) != 0 ? 8 : layout.dtype.bits();
        long all = Math.multiplyExact(elements, bits);
        if (all % 8 != 0 && elements != layout.size) {
            throw new UnsupportedOperationException("found elements that share a byte at the border of the buffer");
        }
        return (all + 7) / 8;
    }

    private static ByteBuffer kept(ViaArray array, Layout layout, long from, long to) {
        if (to - from > Integer.MAX_VALUE) {
            throw new UnsupportedOperationException(
                    "found " + (to - from) + " bytes, expected at most " + Integer.MAX_VALUE + " in one buffer");
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

    private static long retained(long array) {
        Native.via_array_retain(array);
        return array;
    }
}
