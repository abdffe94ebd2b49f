// Brings copies and fills into normal form.
#pragma once

#include "copy/plan.hpp"

namespace via {

// Brings a copy between non-empty arrays of equal dtype and shape into normal form. The two may overlap. Errors:
// VIA_ERROR_UNSUPPORTED between packed and padded elements.
VIA_NODISCARD Status normalise_copy(via_array *dst, via_array *src, Plan *out_plan);

// Brings a fill of a non-empty array with the item_bytes() bytes at `element` into normal form; nullptr means zeros.
// Packed elements come in groups of `group_bits` that make whole bytes where they can.
void normalise_fill(via_array *dst, const char *element, int64_t group_bits, Plan *out_plan);

// Makes the normal form of nbytes > 0 adjacent bytes.
void normalise_bytes(void *dst, const void *src, int64_t nbytes, Plan *out_plan);

}  // namespace via
