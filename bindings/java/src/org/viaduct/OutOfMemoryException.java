package org.viaduct;

/** Memory could not be had, of whichever kind. */
public final class OutOfMemoryException extends ViaductException {
    private static final long serialVersionUID = 1;

    OutOfMemoryException(int status, int code, String text) {
        super(status, code, text);
    }
}
