package org.viaduct;

/** The destination is read-only. */
public final class ReadOnlyException extends ViaductException {
    private static final long serialVersionUID = 1;

    ReadOnlyException(int status, int code, String text) {
        super(status, code, text);
    }
}
