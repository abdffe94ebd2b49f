package org.viaduct;

/** The operating system refused; {@link #code} is errno. */
public final class FileException extends ViaductException {
    private static final long serialVersionUID = 1;

    FileException(int status, int code, String text) {
        super(status, code, text);
    }
}
