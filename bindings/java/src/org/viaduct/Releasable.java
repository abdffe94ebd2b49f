package org.viaduct;

/** An object that is told when the library has let go of it. */
interface Releasable {
    void released();
}
