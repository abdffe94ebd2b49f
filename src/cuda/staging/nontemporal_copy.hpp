// Filling a slot.
#pragma once

#include <cstdint>

namespace via::cuda {

// Copies into memory that a device reads next, past the caches where that is possible; everything is visible to the
// device on return. `dst` is aligned to 64 bytes.
void store_for_device(void *dst, const void *src, int64_t nbytes);

}  // namespace via::cuda
