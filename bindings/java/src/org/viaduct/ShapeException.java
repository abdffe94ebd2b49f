package org.viaduct;

/** A shape is malformed, or not the one expected. */
public final class ShapeException extends ViaductException {
    private static final long serialVersionUID = 1;

    ShapeException(int status, int code, String text) {
        super(status, code, text);
    }
}
