package org.viaduct;

/** Only a copy could do it, and a copy was not allowed. */
public final class NeedsCopyException extends ViaductException {
    private static final long serialVersionUID = 1;

    NeedsCopyException(int status, int code, String text) {
        super(status, code, text);
    }
}
