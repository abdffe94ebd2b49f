package org.viaduct;

/** An argument is out of range, missing, or contradicts another. */
public final class InvalidArgumentException extends ViaductException {
    private static final long serialVersionUID = 1;

    InvalidArgumentException(int status, int code, String text) {
        super(status, code, text);
    }
}
