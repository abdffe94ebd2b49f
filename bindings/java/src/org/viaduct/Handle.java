package org.viaduct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.function.LongConsumer;

/**
 * A handle of the library, released once: when its object is closed, or when the collector finds the object
 * unreachable, and in both cases after the calls that are under way. It is a java.lang.ref.Cleaner of its own, since
 * registering and cleaning one of those takes longer than a wrap.
 *
 * <p>A call counts itself in and out, so that close() on another thread, or the collector, which may find an object
 * unreachable in the middle of its last call, cannot end the handle under it.
 */
final class Handle extends PhantomReference<Object> {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Handle.class, "state", int.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
        Thread thread = new Thread(null, Handle::releaseUnreachable, "viaduct-cleaner", 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    private final long address;
    private final LongConsumer release;
    private final HandleRegistry kept;

    /** Neighbours in the list that keeps this reference alive. */
    Handle previous;

    Handle next;

    /** How many calls are under way; negative once closed. */
    private volatile int state;

    Handle(Object object, long address, LongConsumer release) {
        super(object, UNREACHABLE);
        this.address = address;
        this.release = release;
        this.kept = HandleRegistry.ofThisThread();
        kept.add(this);
    }

    /** The address, for one call of the handle's owner, which ends with {@link #leave}. */
    long enter(Object owner) {
        int found;
        do {
            found = state;
            if (found < 0) {
                throw closed(owner);
            }
        } while (!STATE.compareAndSet(this, found, found + 1));
        return address;
    }

    void leave() {
        if ((int) STATE.getAndAdd(this, -1) == CLOSED + 1) {
            end();
        }
    }

    void close() {
        if ((int) STATE.getAndBitwiseOr(this, CLOSED) == 0) {
            end();
        }
    }

    boolean isClosed() {
        return state < 0;
    }

    void requireOpen(Object owner) {
        if (state < 0) {
            throw closed(owner);
        }
    }

    private static IllegalStateException closed(Object owner) {
        return new IllegalStateException(
                owner.getClass().getSimpleName() + ": the handle is closed; expected an open one");
    }

    private void end() {
        kept.remove(this);
        release.accept(address);
    }

    private static void releaseUnreachable() {
        while (true) {
            try {
                ((Handle) UNREACHABLE.remove()).close();
            } catch (InterruptedException ignored) {
                // Nobody has this thread to end it.
            }
        }
    }
}
