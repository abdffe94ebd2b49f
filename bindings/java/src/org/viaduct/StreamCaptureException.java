package org.viaduct;

/** It cannot be captured into a graph; nothing was touched. */
public final class StreamCaptureException extends ViaductException {
    private static final long serialVersionUID = 1;

    StreamCaptureException(int status, int code, String text) {
        super(status, code, text);
    }
}
