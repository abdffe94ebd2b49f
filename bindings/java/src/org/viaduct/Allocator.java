package org.viaduct;

/** An allocator of the application's for {@link ViaMemory#custom}. Its methods are called by native code. */
public interface Allocator {
    /**
     * Allocates on the thread that asks for memory.
     *
     * @param nbytes more than 0
     * @param alignment what the address must be a multiple of
     * @param stream the native handle (a CUstream) of the stream given to {@link ViaMemory#empty}, 0 for none: the
     *     memory need be usable only behind that stream's work so far
     * @return the address; 0 for failure. What it throws becomes the cause of a {@link CallbackException}.
     */
    long allocate(long nbytes, long alignment, long stream);

    /**
     * Frees what {@link #allocate} gave, once the uses recorded have ended, on whichever thread releases it last or on one
     * of the library.
     *
     * @param stream what allocate was given, if that stream is sure to live, else 0
     */
    void free(long address, long nbytes, long stream);
}
