package org.viaduct;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;

/**
 * What the smallest calls from Java cost: rows of JSON, one a line, for bench.py. An empty call of JNI and the same work
 * in C are timed in turns with ours, so that a slower moment of the machine falls on all.
 */
public final class BenchJava {
    private static final int CALLS = 200_000;
    private static final int WARM_UP = 15;
    private static final int REPETITIONS = 41;

    private static final ByteBuffer PIXELS = ByteBuffer.allocateDirect(64 * 64 * 4);
    private static final long ADDRESS = Buffers.address(PIXELS);
    private static final ViaArray EXPORTED = ViaArray.wrap(ADDRESS, DType.FLOAT32, 64, 64);
    private static final long HANDLE = EXPORTED.handle.enter(EXPORTED);
    private static final ViaArray SMALL = ViaArray.empty(DType.FLOAT32, 4);
    private static final ViaArray LARGE = ViaArray.empty(DType.FLOAT32, 64 << 20);

    /** The sum of the loops, so that none of them is left out. */
    private static long sink;

    private BenchJava() {}

    /** In bench_java.c, which is linked to the library that this class has loaded before. */
    private static native void empty();

    private static native int wrapAndRelease(int count);

    private interface Loop {
        void run(int count);
    }

    private static void emptyCalls(int count) {
        for (int i = 0; i < count; ++i) {
            empty();
        }
    }

    private static void wrapAndClose(int count) {
        for (int i = 0; i < count; ++i) {
            ViaArray.wrap(ADDRESS, DType.FLOAT32, 64, 64).close();
        }
    }

    private static void getters(int count) {
        for (int i = 0; i < count; ++i) {
            sink += EXPORTED.size();
        }
    }

    private static void nativeGetters(int count) {
        for (int i = 0; i < count; ++i) {
            sink += Native.via_array_size(HANDLE);
        }
    }

    private static void countedGetters(int count) {
        for (int i = 0; i < count; ++i) {
            sink += EXPORTED.isReady() ? 1 : 0;
        }
    }

    private static void exports(int count) {
        for (int i = 0; i < count; ++i) {
            Exchange.deleteDlpack(EXPORTED.toDlpack());
        }
    }

    private static void buffers(ViaArray array, int count) {
        for (int i = 0; i < count; ++i) {
            sink += array.buffer().capacity();
        }
    }

    private static double perCall(Loop loop, int count) {
        long start = System.nanoTime();
        loop.run(count);
        return (System.nanoTime() - start) / (double) count;
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    /** Nanoseconds of ours and of the peer's, of repetitions that take turns. */
    private static double[] timed(Loop ours, Loop peer, int count) {
        double[][] times = new double[2][REPETITIONS];
        for (int i = -WARM_UP; i < REPETITIONS; ++i) {
            times[0][Math.max(i, 0)] = perCall(peer, count);
            times[1][Math.max(i, 0)] = perCall(ours, count);
        }
        return new double[] {median(times[1]), median(times[0])};
    }

    private static void row(String name, double[] found, String peer, String target) {
        System.out.printf(
                Locale.ROOT,
                "{\"case\": \"Java: %s\", \"unit\": \"ns\", \"viaduct\": %.2f, \"peers\": {\"%s\": %.2f}, "
                        + "\"limit\": null, \"target\": %s}%n",
                name, found[0], peer, found[1], target);
    }

    private static void againstAnEmptyCall(String name, Loop ours, String target) {
        row(name, timed(ours, BenchJava::emptyCalls, CALLS), "empty JNI call", target);
    }

    /** What three times the work in C and two empty calls take, as one loop. */
    private static void threeTimesCAndTwoCalls(int count) {
        for (int i = 0; i < 3; ++i) {
            if (wrapAndRelease(count) < 0) {
                throw new IllegalStateException("a wrap in C failed");
            }
        }
        emptyCalls(2 * count);
    }

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        againstAnEmptyCall("array.size()", BenchJava::getters, "{\"peer\": \"empty JNI call\", \"at_most\": 1.3}");
        againstAnEmptyCall(
                "the getter beneath it, by JNI", BenchJava::nativeGetters,
                "{\"peer\": \"empty JNI call\", \"at_most\": 1.3}");
        againstAnEmptyCall("array.isReady(), counted in and out", BenchJava::countedGetters, "null");
        row("wrap + close, 2-D", timed(BenchJava::wrapAndClose, BenchJava::threeTimesCAndTwoCalls, CALLS),
                "3 x C + 2 empty calls", "{\"peer\": \"3 x C + 2 empty calls\", \"at_most\": 1}");
        againstAnEmptyCall("DLPack export + delete", BenchJava::exports, "null");
        double[] found = timed(count -> buffers(LARGE, count), count -> buffers(SMALL, count), CALLS / 100);
        row("array.buffer() of 256 MiB", found, "of 16 bytes", "{\"peer\": \"of 16 bytes\", \"at_most\": 1.5}");
    }
}
