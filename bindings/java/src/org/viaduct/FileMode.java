package org.viaduct;

/** How {@link ViaFile#open} opens. */
public enum FileMode {
    /** An existing file, to read. */
    READ(ViaConstants.VIA_MODE_READ),
    /** An existing file, to read and write. */
    READ_WRITE(ViaConstants.VIA_MODE_READ_WRITE),
    /** An existing file; arrays mapped from it may be written, the file is not. */
    COPY_ON_WRITE(ViaConstants.VIA_MODE_COPY_ON_WRITE);

    final int code;

    FileMode(int code) {
        this.code = code;
    }
}
