// The libraries that this process has opened: whether there may be one among them that was not there before.
#pragma once

#include <cstdint>

namespace via::cuda {

// A number that is another one whenever a library is open that was not at an earlier call. Costs a nanosecond as long
// as nothing has been opened since this library was loaded, and a call of the loader's, about ten, from then on.
uint64_t loader_generation();

}  // namespace via::cuda
