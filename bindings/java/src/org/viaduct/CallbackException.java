package org.viaduct;

/** A callback reported failure; the cause is what it threw. */
public final class CallbackException extends ViaductException {
    private static final long serialVersionUID = 1;

    CallbackException(int status, int code, String text) {
        super(status, code, text);
    }
}
