package org.viaduct;

import java.nio.Buffer;
import java.nio.ByteBuffer;

/** What JNI does, and not the library; see bindings/java/native/bridge.cpp. */
final class Bridge {
    static {
        NativeLibrary.load();
    }

    /** Release functions for a context made by {@link #hold}: one lets the object go, the other calls it before. */
    static final long DROP = dropFunction();

    static final long RELEASE = releaseFunction();
    static final long ALLOCATE = allocateFunction();
    static final long FREE = freeFunction();
    static final long COMPLETE = completeFunction();

    private Bridge() {}

    /** The numbers that {@link Layout} is made of. */
    static native long[] describe(long array);

    /** Where a direct buffer begins, whatever its position; 0 for any other. */
    static native long address(Buffer buffer);

    /** A direct buffer on `count` bytes, at most Integer.MAX_VALUE, which keeps nothing alive. */
    static native ByteBuffer buffer(long address, long count);

    /** Bytes of host memory, pinned and managed included, that the library has allocated and not freed. */
    static native long allocated();

    /** A context for the library that keeps an object alive until it is dropped. */
    static native long hold(Object object);

    static native void drop(long held);

    static native Object held(long held);

    private static native long dropFunction();

    private static native long releaseFunction();

    private static native long allocateFunction();

    private static native long freeFunction();

    private static native long completeFunction();
}
