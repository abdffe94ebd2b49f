package org.viaduct;

/** Memory of some kind could not be allocated. */
public final class OutOfMemoryException extends ViaductException {
    private static final long serialVersionUID = 1;

    OutOfMemoryException(int status, int code, String text) {
        super(status, code, text);
    }
}
