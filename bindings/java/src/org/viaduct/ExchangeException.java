package org.viaduct;

/** The protocol cannot say what this array is, or what was offered breaks its rules. */
public final class ExchangeException extends ViaductException {
    private static final long serialVersionUID = 1;

    ExchangeException(int status, int code, String text) {
        super(status, code, text);
    }
}
