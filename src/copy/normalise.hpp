// Brings copies and fills into normal form.
#pragma once

#include "copy/plan.hpp"

namespace via {

// Brings a copy between non-empty arrays of equal dtype and shape into normal form; no more than that is decided, and
// the two may overlap. VIA_ERROR_UNSUPPORTED between packed and padded elements.
VIA_NODISCARD Status normalise_copy(via_array *dst, via_array *src, Plan *out_plan);

// The same for writing the item_bytes() bytes at `element` (of a non-empty array) everywhere; nullptr means zeros.
// Packed elements: a group of them that makes whole bytes, `group_bits` in all.
VIA_NODISCARD Status normalise_fill(via_array *dst, const char *element, int64_t group_bits, Plan *out_plan);

// A copy of nbytes > 0 adjacent bytes.
void normalise_bytes(void *dst, const void *src, int64_t nbytes, Plan *out_plan);

}  // namespace via
