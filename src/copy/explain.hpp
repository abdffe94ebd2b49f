// The plan of a copy as text.
#pragma once

#include "core/array/array.hpp"

namespace via {

// The plan of a copy as text; at most `capacity` bytes with the ending 0, the whole length to *out_length.
VIA_NODISCARD Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length);

}  // namespace via
