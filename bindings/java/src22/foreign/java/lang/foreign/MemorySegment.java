package java.lang.foreign;

import java.nio.Buffer;
import java.util.function.Consumer;

/** What is used of JDK 22's class, for compilers of JDKs that have none; no jar holds it. */
public interface MemorySegment {
    /** The lifetime of a segment. */
    interface Scope {
        boolean isAlive();
    }

    static MemorySegment ofAddress(long address) {
        throw new UnsupportedOperationException();
    }

    static MemorySegment ofBuffer(Buffer buffer) {
        throw new UnsupportedOperationException();
    }

    MemorySegment reinterpret(long newSize, Arena arena, Consumer<MemorySegment> cleanup);

    MemorySegment asReadOnly();

    Scope scope();

    boolean isNative();

    boolean isReadOnly();

    long address();

    long byteSize();
}
