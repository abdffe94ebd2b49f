package org.viaduct;

/** A library, struct or protocol version that cannot be served. */
public final class VersionException extends ViaductException {
    private static final long serialVersionUID = 1;

    VersionException(int status, int code, String text) {
        super(status, code, text);
    }
}
