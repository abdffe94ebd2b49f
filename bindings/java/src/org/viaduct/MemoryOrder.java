package org.viaduct;

/** How the elements of a dense array follow one another. */
public enum MemoryOrder {
    /** The last index moves fastest, as in C. */
    ROW_MAJOR(ViaConstants.VIA_ORDER_ROW_MAJOR),
    /** The first index moves fastest, as in Fortran. */
    COLUMN_MAJOR(ViaConstants.VIA_ORDER_COLUMN_MAJOR),
    /** No gaps and no overlap, whatever the order of the axes. */
    ANY(ViaConstants.VIA_ORDER_ANY);

    final int code;

    MemoryOrder(int code) {
        this.code = code;
    }
}
