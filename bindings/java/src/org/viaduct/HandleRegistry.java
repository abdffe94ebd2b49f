package org.viaduct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Keeps the handles that are not yet released, so that the collector reports their objects. One of several lists. */
final class HandleRegistry {
    private static final HandleRegistry[] LISTS = new HandleRegistry[16];
    private static final VarHandle LOCKED;

    static {
        try {
            LOCKED = MethodHandles.lookup().findVarHandle(HandleRegistry.class, "locked", boolean.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
        for (int i = 0; i < LISTS.length; ++i) {
            LISTS[i] = new HandleRegistry();
        }
    }

    private Handle first;

    /** Held for a few stores; a lock of the JVM's takes longer than a wrap. */
    private volatile boolean locked;

    private HandleRegistry() {}

    static HandleRegistry ofThisThread() {
        return LISTS[(int) Thread.currentThread().getId() & (LISTS.length - 1)];
    }

    void add(Handle handle) {
        lock();
        handle.next = first;
        if (first != null) {
            first.previous = handle;
        }
        first = handle;
        unlock();
    }

    void remove(Handle handle) {
        lock();
        if (handle.previous != null) {
            handle.previous.next = handle.next;
        } else {
            first = handle.next;
        }
        if (handle.next != null) {
            handle.next.previous = handle.previous;
        }
        handle.previous = null;
        handle.next = null;
        unlock();
    }

    private void lock() {
        for (int tries = 1; !LOCKED.compareAndSet(this, false, true); ++tries) {
            if (tries % 64 == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private void unlock() {
        LOCKED.setRelease(this, false);
    }
}
