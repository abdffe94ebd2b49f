// The end of streams and events that the library made for its caller.
#pragma once

#include "cuda/driver/context.hpp"

namespace via::cuda {

// One of the two, and the context that it is of.
struct NativeHandle {
    CUstream stream;
    CUevent event;
    ContextKey key;
};

// Never fails and never waits: a stream with work pending ends once that has run; what a reset context owned went with
// it; in a forked child nothing is done; inside a callback of the driver it is left to another thread.
void destroy_native(const NativeHandle &native);

// The same for a thread that must not call the driver, since it is ending.
void destroy_native_later(const NativeHandle &native);

}  // namespace via::cuda
