package org.viaduct;

/** A file is not what it claims to be. */
public final class FormatException extends ViaductException {
    private static final long serialVersionUID = 1;

    FormatException(int status, int code, String text) {
        super(status, code, text);
    }
}
