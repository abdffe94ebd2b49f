package org.viaduct;

import java.nio.Buffer;

/**
 * What stands behind wrapped memory: an object to keep alive, what to run at the end, and the buffer whose memory it
 * is; any of them may be null.
 */
record Loan(Object owner, Runnable release, Buffer memory) implements Releasable {
    @Override
    public void released() {
        release.run();
    }

    /** The release function that such a loan needs. */
    long function() {
        return release == null ? Bridge.DROP : Bridge.RELEASE;
    }
}
