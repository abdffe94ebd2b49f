// Non-temporal copies into slots.
#pragma once

#include <cstdint>

namespace via::cuda {

// Copies into memory that a device reads next, past the caches where possible. The device sees all of it on return.
// `dst` is aligned to 64 bytes.
void store_for_device(void *dst, const void *src, int64_t nbytes);

}  // namespace via::cuda
