package org.viaduct;

/** What native code calls, on any thread. Nothing is thrown back into it. */
final class Callbacks {
    /** What an allocator has thrown; the call that asked for the memory throws it on, as a cause. */
    private static final ThreadLocal<Throwable> RAISED = new ThreadLocal<>();

    private Callbacks() {}

    static void release(Object held) {
        try {
            ((Releasable) held).released();
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    static long allocate(Object held, long nbytes, long alignment, long stream) {
        try {
            return ((Allocator) held).allocate(nbytes, alignment, stream);
        } catch (Throwable thrown) {
            RAISED.set(thrown);
            return 0;
        }
    }

    static void free(Object held, long address, long nbytes, long stream) {
        try {
            ((Allocator) held).free(address, nbytes, stream);
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    static void complete(Object held) {
        try {
            ((TaskFuture) held).ended();
        } catch (Throwable thrown) {
            report(thrown);
        }
    }

    /** What the last allocator on this thread has thrown, once; null if there is none. */
    static Throwable takeRaised() {
        Throwable raised = RAISED.get();
        RAISED.remove();
        return raised;
    }

    /** Nobody waits for what a release throws: it goes where that of a thread goes. */
    private static void report(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }
}
