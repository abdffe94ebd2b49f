package org.viaduct;

import java.util.Arrays;

/** What the library reports of an array, which does not change; asked for once, in one call. */
final class Layout {
    private static final int FACTS = 10;

    final long address;
    final DType dtype;
    final int ndim;
    final Device device;
    final long size;
    final long nbytes;
    final int flags;
    final long[] shape;

    /** null where they are not whole elements, or not whole bytes. */
    final long[] strides;

    final long[] byteStrides;

    Layout(long array) {
        long[] facts = Bridge.describe(array);
        address = facts[0];
        dtype = new DType((int) facts[1]);
        ndim = (int) facts[2];
        device = new Device((int) facts[3], (int) facts[4]);
        size = facts[5];
        nbytes = facts[6];
        flags = (int) facts[7];
        int at = FACTS;
        shape = Arrays.copyOfRange(facts, at, at + ndim);
        at += ndim;
        strides = facts[8] != 0 ? Arrays.copyOfRange(facts, at, at + ndim) : null;
        at += strides != null ? ndim : 0;
        byteStrides = facts[9] != 0 ? Arrays.copyOfRange(facts, at, at + ndim) : null;
    }
}
