package org.viaduct;

/** An object that is notified when the library has released it. */
interface Releasable {
    void released();
}
