package org.viaduct;

/** CUDA was used before fork; the child cannot use it. */
public final class ForkedException extends ViaductException {
    private static final long serialVersionUID = 1;

    ForkedException(int status, int code, String text) {
        super(status, code, text);
    }
}
