package org.viaduct;

/** What becomes of a float whose magnitude exceeds all numbers of a destination of at most 8 bits. */
public enum FloatOverflow {
    /** Infinity; NaN in types without it; the largest number in types without NaN. */
    INFINITY(ViaConstants.VIA_OVERFLOW_INFINITY),
    /** The largest number of its sign. */
    SATURATE(ViaConstants.VIA_OVERFLOW_SATURATE);

    final int code;

    FloatOverflow(int code) {
        this.code = code;
    }
}
