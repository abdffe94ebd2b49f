package org.viaduct;

/** A file does not have the format it claims. */
public final class FormatException extends ViaductException {
    private static final long serialVersionUID = 1;

    FormatException(int status, int code, String text) {
        super(status, code, text);
    }
}
