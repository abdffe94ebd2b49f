package org.viaduct;

/** Which conversions {@link Viaduct#convert} may do, with NumPy's names and meaning. */
public enum Casting {
    /** Also within a kind, and up: bool, unsigned, signed, float, complex. */
    SAME_KIND(ViaConstants.VIA_CASTING_SAME_KIND),
    /** Only those that keep every value (and 64-bit integers to float64). */
    SAFE(ViaConstants.VIA_CASTING_SAFE),
    /** Only of the byte order. */
    EQUIV(ViaConstants.VIA_CASTING_EQUIV),
    /** All. */
    UNSAFE(ViaConstants.VIA_CASTING_UNSAFE);

    final int code;

    Casting(int code) {
        this.code = code;
    }
}
