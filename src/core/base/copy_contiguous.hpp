// Copies many adjacent bytes on the calling thread.
#pragma once

#include <cstdint>

namespace via {

// Copies memory that does not overlap. It takes as long wherever both begin within a page, as memcpy does not.
void copy_contiguous(void *dst, const void *src, int64_t nbytes);

}  // namespace via
