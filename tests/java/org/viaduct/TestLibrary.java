package org.viaduct;

/** Another native library of the process: tests/java/java_test.c. */
final class TestLibrary {
    static {
        Viaduct.version(); // brings the library that this one is linked to
        System.load(System.getProperty("viaduct.test.native"));
    }

    private TestLibrary() {}

    static native double sumAndDouble(long tensor);

    static native long export();

    static native int ended();

    static native float exportedNumber(int at);

    static native void deleteOnForeignThread(long tensor);

    static native void deleteAroundADetach(long first, long second);

    static native void endAtExit();

    static native void endOnAndOn();

    static native void leave(long tensor);

    static native long allocate(long nbytes, long alignment);

    static native void free(long address);

    static native long freeFunction();

    static native boolean limitGrowth(long nbytes);
}
