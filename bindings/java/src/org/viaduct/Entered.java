package org.viaduct;

/** The handles of several arrays, which stay what they are until this is closed. */
final class Entered implements AutoCloseable {
    private final ViaArray[] arrays;
    private final long[] handles;
    private int entered;

    Entered(ViaArray[] given) {
        arrays = given.clone();
        handles = new long[arrays.length];
        try {
            for (; entered < arrays.length; ++entered) {
                handles[entered] = Calls.enter(arrays[entered]);
            }
        } catch (IllegalStateException closed) {
            close();
            throw closed;
        }
    }

    long[] handles() {
        return handles;
    }

    @Override
    public void close() {
        for (int i = 0; i < entered; ++i) {
            Calls.leave(arrays[i]);
        }
    }
}
