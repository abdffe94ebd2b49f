package org.viaduct;

/** An axis or an index lies outside the array. */
public final class OutOfRangeException extends ViaductException {
    private static final long serialVersionUID = 1;

    OutOfRangeException(int status, int code, String text) {
        super(status, code, text);
    }
}
