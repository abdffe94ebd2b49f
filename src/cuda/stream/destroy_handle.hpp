// Destroys streams and events that the library made for its caller.
#pragma once

#include "cuda/driver/context.hpp"

namespace via::cuda {

// A stream or an event, and its context.
struct NativeHandle {
    CUstream stream;
    CUevent event;
    ContextKey key;
};

// Never fails and never waits. A stream with pending work ends once that has run. Does nothing for handles of a context
// that was reset, and in a forked child. Inside a callback of the driver another thread does it.
void destroy_native(const NativeHandle &native);

// Does the same for a thread that is ending and must not call the driver.
void destroy_native_later(const NativeHandle &native);

}  // namespace via::cuda
