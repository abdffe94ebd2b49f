// Detects whether the process has opened a library since an earlier call.
#pragma once

#include <cstdint>

namespace via::cuda {

// Returns a number that differs whenever a library has been opened since an earlier call. Takes a nanosecond as long as
// none has been opened since this library was loaded, and about ten from then on.
uint64_t loader_generation();

}  // namespace via::cuda
