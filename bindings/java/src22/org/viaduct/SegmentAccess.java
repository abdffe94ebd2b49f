package org.viaduct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.util.Objects;
import java.util.function.LongConsumer;

/** What java.lang.foreign adds to {@link ViaArray}, from JDK 22 on. */
abstract sealed class SegmentAccess extends Resource permits ViaArray {
    SegmentAccess(long address, LongConsumer release) {
        super(address, release);
    }

    /**
     * All elements of dense host memory as a segment, of any size, read-only if the array is. It waits until the content
     * is ready. The segment, and every slice of it, keeps the memory alive, whether or not the array is closed.
     *
     * @throws DeviceException if the memory is a device's
     * @throws NeedsCopyException if the elements are not dense in row-major order
     */
    public MemorySegment segment() {
        return segment(Arena.ofAuto());
    }

    /**
     * The same for as long as the arena is open: its end drops the segment's hold of the memory, and every later access
     * throws IllegalStateException.
     *
     * @throws DeviceException if the memory is a device's
     * @throws NeedsCopyException if the elements are not dense in row-major order
     */
    public MemorySegment segment(Arena arena) {
        ViaArray array = (ViaArray) this;
        DenseBytes dense = DenseBytes.of(array, 0, array.size());
        array.synchronize();
        long held = array.retained();
        try {
            MemorySegment memory = MemorySegment.ofAddress(dense.address());
            MemorySegment segment = memory.reinterpret(dense.count(), arena, ended -> Native.via_array_release(held));
            return dense.readOnly() ? segment.asReadOnly() : segment;
        } catch (RuntimeException refused) {
            Native.via_array_release(held);
            throw refused;
        }
    }

    /**
     * A row-major array of what a native segment holds, which must be enough. The array keeps the segment alive, and is
     * read-only if that is. Where the segment's arena can be closed, close it after the last use of the array and its
     * views: the library cannot prevent that.
     *
     * @throws InvalidArgumentException if the segment is on the heap, or its arena is closed
     * @throws ShapeException if the segment holds less than the array
     */
    public static ViaArray wrap(MemorySegment segment, DType dtype, long... shape) {
        return builder(segment, dtype, shape).wrap();
    }

    /** For strides, owners and flags. */
    public static WrapBuilder builder(MemorySegment segment, DType dtype, long... shape) {
        Objects.requireNonNull(segment, "segment");
        requireNative(segment);
        ByteRange room = new ByteRange(0, segment.byteSize());
        try {
            return WrapBuilder.of(segment, segment.address(), room, segment.isReadOnly(), dtype, shape);
        } finally {
            Reference.reachabilityFence(segment);
        }
    }

    /** Refuses a buffer on memory that is freed: java.nio knows, and JNI does not. */
    static void requireOpen(Buffer buffer) {
        if (!MemorySegment.ofBuffer(buffer).scope().isAlive()) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "buffer is of a closed arena; expected memory of an arena that is open");
        }
    }

    private static void requireNative(MemorySegment segment) {
        String found = !segment.isNative() ? "on the heap" : !segment.scope().isAlive() ? "of a closed arena" : null;
        if (found != null) {
            throw ViaductException.refused(
                    ViaConstants.VIA_ERROR_INVALID_ARGUMENT,
                    "segment is " + found + "; expected native memory of an arena that is open");
        }
    }
}
