package org.viaduct;

/** The operation cannot be captured into a graph; no memory was accessed. */
public final class StreamCaptureException extends ViaductException {
    private static final long serialVersionUID = 1;

    StreamCaptureException(int status, int code, String text) {
        super(status, code, text);
    }
}
