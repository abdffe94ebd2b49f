package org.viaduct;

import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** Structs of the header, alive for a call. */
final class Struct {
    private Struct() {}

    /** Has a call fill a struct, and reads it. */
    static <T> T filled(long struct, LongConsumer delete, LongConsumer call, LongFunction<T> read) {
        return used(struct, delete, at -> {
            call.accept(at);
            return read.apply(at);
        });
    }

    /** Does something with a struct; one that could not be made is 0, which the library refuses. */
    static <T> T used(long struct, LongConsumer delete, LongFunction<T> use) {
        try {
            return use.apply(struct);
        } finally {
            delete.accept(struct);
        }
    }
}
