package org.viaduct;

import java.util.function.LongSupplier;

/**
 * Frees what only garbage holds. To the collector an array or a buffer is an object of a few bytes, so that it may not
 * run before such objects hold all memory of the machine. As the JDK does for its own direct buffers, an allocation
 * that is refused therefore collects, waits for the cleaner and tries again. Linux refuses almost nothing and ends a
 * process that has too much, so that a large allocation also collects when much has been allocated since the last time.
 */
final class MemoryPressure {
    /** Milliseconds of the last wait, each of which is twice the one before: half a second in all. */
    private static final int LONGEST_WAIT = 256;

    /** The same where nothing is refused and nothing has come of the collection: all memory may be in use. */
    private static final int LONGEST_LOOK = 32;

    /** Arrays of fewer bytes are left to the collector: enough of them make it run. */
    private static final int LARGE = 1 << 16;

    private static final int ENOMEM = 12;
    private static final long MACHINE = Viaduct.deviceInfo(Device.CPU).totalBytes();

    /** Allocated bytes above which an allocation collects. */
    private static long limit = MACHINE / 2;

    private MemoryPressure() {}

    /** Makes a call that allocates an array; answers its handle. */
    static long allocate(LongSupplier call) {
        long array = retry(call);
        if (Native.via_array_nbytes(array) >= LARGE) {
            collectAboveLimit();
        }
        return array;
    }

    /** Makes a call until memory can be had, or the collector has had its time. */
    static long retry(LongSupplier call) {
        boolean interrupted = false;
        try {
            for (int wait = 1; ; wait *= 2) {
                try {
                    return call.getAsLong();
                } catch (ViaductException refused) {
                    if (wait > LONGEST_WAIT || !isShortage(refused)) {
                        throw refused;
                    }
                }
                if (wait == 1) {
                    System.gc();
                }
                interrupted |= pause(wait);
            }
        } finally {
            restore(interrupted);
        }
    }

    private static boolean isShortage(ViaductException refused) {
        return refused instanceof OutOfMemoryException
                || refused instanceof FileException && refused.code() == ENOMEM;
    }

    /** Collects if much is allocated; the next time is half way between what stays and all that there is. */
    private static synchronized void collectAboveLimit() {
        long before = Bridge.allocated();
        if (before <= limit) {
            return;
        }
        long allocated = before;
        boolean interrupted = false;
        System.gc();
        for (int wait = 1; allocated > limit && wait <= (allocated < before ? LONGEST_WAIT : LONGEST_LOOK); wait *= 2) {
            interrupted |= pause(wait);
            allocated = Bridge.allocated();
        }
        long step = Math.max((MACHINE - allocated) / 2, MACHINE / 16);
        limit = Math.max(MACHINE / 2, allocated + step);
        restore(interrupted);
    }

    /** Waits for the cleaner; answers whether the thread was interrupted meanwhile. */
    private static boolean pause(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
            return false;
        } catch (InterruptedException interrupted) {
            return true;
        }
    }

    private static void restore(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
