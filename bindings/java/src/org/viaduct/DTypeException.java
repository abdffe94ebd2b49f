package org.viaduct;

/** An element type is unknown, or not the one expected. */
public final class DTypeException extends ViaductException {
    private static final long serialVersionUID = 1;

    DTypeException(int status, int code, String text) {
        super(status, code, text);
    }
}
