package org.viaduct;

/** Whether an exchange may copy. */
public enum CopyMode {
    /** Exports; copies only if exporting is impossible. */
    IF_NEEDED(ViaConstants.VIA_COPY_IF_NEEDED),
    /** Exports, or fails with {@link NeedsCopyException}. */
    NEVER(ViaConstants.VIA_COPY_NEVER),
    /** Always makes a new, writable copy. */
    ALWAYS(ViaConstants.VIA_COPY_ALWAYS);

    final int code;

    CopyMode(int code) {
        this.code = code;
    }
}
