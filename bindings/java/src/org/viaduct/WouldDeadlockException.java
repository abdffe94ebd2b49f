package org.viaduct;

/** Waiting here could never end. */
public final class WouldDeadlockException extends ViaductException {
    private static final long serialVersionUID = 1;

    WouldDeadlockException(int status, int code, String text) {
        super(status, code, text);
    }
}
