package org.viaduct;

/** A product or sum of extents does not fit. */
public final class ExtentOverflowException extends ViaductException {
    private static final long serialVersionUID = 1;

    ExtentOverflowException(int status, int code, String text) {
        super(status, code, text);
    }
}
