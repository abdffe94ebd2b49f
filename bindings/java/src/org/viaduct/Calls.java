package org.viaduct;

import java.util.function.LongBinaryOperator;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/** Calls of the library with the handles of objects, which stay what they are until the call has ended. null is NULL. */
final class Calls {
    private Calls() {}

    interface Two {
        void on(long first, long second);
    }

    interface Three {
        void on(long first, long second, long third);
    }

    interface OfThree {
        long on(long first, long second, long third);
    }

    static long enter(Resource object) {
        return object == null ? 0 : object.handle.enter(object);
    }

    static void leave(Resource object) {
        if (object != null) {
            object.handle.leave();
        }
    }

    static long get(Resource object, LongUnaryOperator call) {
        long handle = enter(object);
        try {
            return call.applyAsLong(handle);
        } finally {
            leave(object);
        }
    }

    static long get(Resource first, Resource second, LongBinaryOperator call) {
        long handle = enter(second);
        try {
            return get(first, given -> call.applyAsLong(given, handle));
        } finally {
            leave(second);
        }
    }

    static long get(Resource first, Resource second, Resource third, OfThree call) {
        long handle = enter(third);
        try {
            return get(first, second, (one, two) -> call.on(one, two, handle));
        } finally {
            leave(third);
        }
    }

    static <T> T object(Resource object, LongFunction<T> call) {
        long handle = enter(object);
        try {
            return call.apply(handle);
        } finally {
            leave(object);
        }
    }

    static void run(Resource object, LongConsumer call) {
        long handle = enter(object);
        try {
            call.accept(handle);
        } finally {
            leave(object);
        }
    }

    static void run(Resource first, Resource second, Two call) {
        long handle = enter(second);
        try {
            run(first, given -> call.on(given, handle));
        } finally {
            leave(second);
        }
    }

    static void run(Resource first, Resource second, Resource third, Three call) {
        long handle = enter(third);
        try {
            run(first, second, (one, two) -> call.on(one, two, handle));
        } finally {
            leave(third);
        }
    }
}
