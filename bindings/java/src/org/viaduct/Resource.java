package org.viaduct;

import java.util.function.LongConsumer;

/**
 * An object of the library. Close it when done, best by try-with-resources: device memory and files are not what a
 * collector counts. One that is forgotten is closed some time after it has become unreachable.
 *
 * <p>Any thread may close it, and more than once. Calls under way on other threads go on to their end; every later one
 * throws IllegalStateException.
 */
public abstract class Resource implements AutoCloseable {
    final Handle handle;

    /** For a handle of the library that is this object's to release. */
    Resource(long address, LongConsumer release) {
        handle = new Handle(this, address, release);
    }

    /** Releases it, now or when the last call under way has ended. */
    @Override
    public void close() {
        handle.close();
    }

    /** Returns whether it has been closed. */
    public boolean isClosed() {
        return handle.isClosed();
    }
}
