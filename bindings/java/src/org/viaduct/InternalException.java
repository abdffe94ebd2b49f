package org.viaduct;

/** A bug of this library: please report the text. */
public final class InternalException extends ViaductException {
    private static final long serialVersionUID = 1;

    InternalException(int status, int code, String text) {
        super(status, code, text);
    }
}
