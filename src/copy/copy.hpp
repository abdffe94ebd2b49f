// Copies and fills between host arrays: what the API layer calls.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/status.hpp"

namespace via {

// VIA_OK if `src` can be copied to `dst`: shapes, dtypes, read-only, overlap. Touches no element.
VIA_NODISCARD Status check_copy(via_array *dst, via_array *src);

VIA_NODISCARD Status copy_array(via_array *dst, via_array *src);

// `element` is one element's bytes; nullptr for zeros.
VIA_NODISCARD Status fill_array(via_array *dst, const void *element);

// Between two host addresses that do not overlap.
VIA_NODISCARD Status copy_bytes(void *dst, const void *src, int64_t nbytes);

// The plan of a copy as text; at most `capacity` bytes with the ending 0, the whole length to *out_length.
VIA_NODISCARD Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length);

// Threads that one copy may use, the caller's included.
int32_t num_threads();
VIA_NODISCARD Status set_num_threads(int32_t count);

}  // namespace via
