package org.viaduct;

/** The task was cancelled. */
public final class CancelledException extends ViaductException {
    private static final long serialVersionUID = 1;

    CancelledException(int status, int code, String text) {
        super(status, code, text);
    }
}
