package org.viaduct;

/** The protocol cannot describe this array, or the imported object breaks its rules. */
public final class ExchangeException extends ViaductException {
    private static final long serialVersionUID = 1;

    ExchangeException(int status, int code, String text) {
        super(status, code, text);
    }
}
