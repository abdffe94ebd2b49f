package org.viaduct;

/** The version of a library, struct or protocol is not supported. */
public final class VersionException extends ViaductException {
    private static final long serialVersionUID = 1;

    VersionException(int status, int code, String text) {
        super(status, code, text);
    }
}
