package org.viaduct;

/** What the bytes of a file are. */
public enum FileFormat {
    /** .npy if the file starts with its magic (or, created, if its name ends so), else raw. */
    AUTO(ViaConstants.VIA_FORMAT_AUTO),
    /** Elements and nothing else. */
    RAW(ViaConstants.VIA_FORMAT_RAW),
    /** NumPy's .npy. */
    NPY(ViaConstants.VIA_FORMAT_NPY);

    final int code;

    FileFormat(int code) {
        this.code = code;
    }
}
