package org.viaduct;

/** What stands behind wrapped memory: an object to keep alive, and what to run at the end; either may be null. */
record Loan(Object owner, Runnable release) implements Releasable {
    @Override
    public void released() {
        release.run();
    }

    /** The release function that such a loan needs. */
    long function() {
        return release == null ? Bridge.DROP : Bridge.RELEASE;
    }
}
