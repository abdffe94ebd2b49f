package org.viaduct;

/** The CUDA driver refused; {@link #code} is its CUresult. */
public final class CudaException extends ViaductException {
    private static final long serialVersionUID = 1;

    CudaException(int status, int code, String text) {
        super(status, code, text);
    }
}
