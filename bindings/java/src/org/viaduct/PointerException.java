package org.viaduct;

/** The address is unknown, unreadable, or ends before the array does. */
public final class PointerException extends ViaductException {
    private static final long serialVersionUID = 1;

    PointerException(int status, int code, String text) {
        super(status, code, text);
    }
}
