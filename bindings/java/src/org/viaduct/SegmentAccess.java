package org.viaduct;

import java.nio.Buffer;
import java.util.function.LongConsumer;

/**
 * What java.lang.foreign adds to {@link ViaArray}: nothing before JDK 22. From there on the jar has another class of this
 * name, of bindings/java/src22.
 */
abstract sealed class SegmentAccess extends Resource permits ViaArray {
    SegmentAccess(long address, LongConsumer release) {
        super(address, release);
    }

    /** No memory of a buffer is freed before the buffer is garbage. */
    static void requireOpen(Buffer buffer) {}
}
