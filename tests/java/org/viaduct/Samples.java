package org.viaduct;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;

/** What the tests have in common. */
final class Samples {
    private static final Queue<ByteBuffer> KEPT = new ConcurrentLinkedQueue<>();

    private Samples() {}

    static ByteBuffer direct(int nbytes) {
        return ByteBuffer.allocateDirect(nbytes).order(ByteOrder.nativeOrder());
    }

    /** Of memory that stays: an address keeps no buffer from being collected. */
    static long address(int nbytes) {
        ByteBuffer kept = direct(nbytes);
        KEPT.add(kept);
        return Buffers.address(kept);
    }

    /** The numbers 0 to count - 1. */
    static FloatBuffer counted(int count) {
        FloatBuffer numbers = direct(4 * count).asFloatBuffer();
        for (int i = 0; i < count; ++i) {
            numbers.put(i, i);
        }
        return numbers;
    }

    /** The numbers 0 to 11, as 3 by 4. */
    static ViaArray grid() {
        return ViaArray.wrap(counted(12), DType.FLOAT32, 3, 4);
    }

    /** The elements of a float32 array, in row-major order, wherever it is. */
    static float[] elements(ViaArray array) {
        float[] found = new float[(int) array.size()];
        try (ViaArray dense = ViaArray.empty(DType.FLOAT32, array.shape())) {
            Viaduct.copy(dense, array);
            dense.buffer().asFloatBuffer().get(found);
        }
        return found;
    }

    /** Collects garbage until something has come of it. */
    static void collectUntil(BooleanSupplier done) {
        collectUntil(done, "fewer");
    }

    /** What is said where nothing has come of it ends with these words. */
    static void collectUntil(BooleanSupplier done, Object expected) {
        long deadline = System.nanoTime() + 20_000_000_000L;
        boolean came = done.getAsBoolean();
        while (!came && System.nanoTime() < deadline) {
            System.gc();
            pause(5);
            came = done.getAsBoolean();
        }
        assertTrue(came, "garbage was collected in vain: " + Viaduct.stats() + " are alive; expected " + expected);
    }

    static void pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    /** An int of another number would be a count that was cut off: no test may see one. */
    static final long BIG = 1L << 40;
}
