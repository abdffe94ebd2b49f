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
        Objects.requireNonNull(buffer, "buffer");
        if (!buffer.isDirect()) {
            throw refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT, "buffer is on the heap; expected a direct buffer");
        }
        SegmentAccess.requireOpen(buffer);
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
        DenseBytes dense = DenseBytes.of(array, offset, count);
        if (dense.count() > Integer.MAX_VALUE) {
            throw refused(
                    ViaConstants.VIA_ERROR_OVERFLOW,
                    "buffer has " + dense.count() + " bytes; expected at most " + Integer.MAX_VALUE
                            + ": take it by offset and count");
        }
        array.synchronize();
        if (dense.count() == 0) {
            return ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder());
        }
        ByteBuffer bytes = Bridge.buffer(dense.address(), dense.count());
        new Handle(bytes, array.retained(), Native::via_array_release);
        return (dense.readOnly() ? bytes.asReadOnlyBuffer() : bytes).order(ByteOrder.nativeOrder());
    }

    static ViaductException refused(int status, String text) {
        return ViaductException.refused(status, text);
    }
}
