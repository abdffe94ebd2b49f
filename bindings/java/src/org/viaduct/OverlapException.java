package org.viaduct;

/** Source and destination, or elements of a destination, share bytes. */
public final class OverlapException extends ViaductException {
    private static final long serialVersionUID = 1;

    OverlapException(int status, int code, String text) {
        super(status, code, text);
    }
}
