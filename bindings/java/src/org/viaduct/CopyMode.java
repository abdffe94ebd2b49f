package org.viaduct;

/** When an exchange may copy. */
public enum CopyMode {
    /** Lend; copy only where lending cannot be done. */
    IF_NEEDED(ViaConstants.VIA_COPY_IF_NEEDED),
    /** Lend, or fail with {@link NeedsCopyException}. */
    NEVER(ViaConstants.VIA_COPY_NEVER),
    /** Always a fresh, writable copy. */
    ALWAYS(ViaConstants.VIA_COPY_ALWAYS);

    final int code;

    CopyMode(int code) {
        this.code = code;
    }
}
