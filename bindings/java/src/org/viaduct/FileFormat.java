package org.viaduct;

/** The format of a file. */
public enum FileFormat {
    /** .npy if the file starts with its magic (or, created, if its name ends so), else raw. */
    AUTO(ViaConstants.VIA_FORMAT_AUTO),
    /** Elements without a header. */
    RAW(ViaConstants.VIA_FORMAT_RAW),
    /** NumPy's .npy. */
    NPY(ViaConstants.VIA_FORMAT_NPY);

    final int code;

    FileFormat(int code) {
        this.code = code;
    }
}
