// Swaps the bytes of adjacent numbers, on the calling thread.
#pragma once

#include <cstdint>

namespace via {

// Stores numbers of `width` bytes, 2, 4 or 8, with their bytes in reverse order. dst is src or does not overlap it.
void swap_bytes(void *dst, const void *src, int64_t nbytes, int64_t width);

}  // namespace via
