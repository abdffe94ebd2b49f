package org.viaduct;

/** This build, machine or driver does not support it. */
public final class UnsupportedException extends ViaductException {
    private static final long serialVersionUID = 1;

    UnsupportedException(int status, int code, String text) {
        super(status, code, text);
    }
}
