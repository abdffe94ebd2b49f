package org.viaduct;

/**
 * What stands behind wrapped memory: an object to keep alive, what to run at the end, and the buffer or segment whose
 * memory it is; any of them may be null.
 */
record BorrowedMemory(Object owner, Runnable release, Object memory) implements Releasable {
    @Override
    public void released() {
        release.run();
    }

    /** The release function that this memory needs. */
    long function() {
        return release == null ? Bridge.DROP : Bridge.RELEASE;
    }
}
