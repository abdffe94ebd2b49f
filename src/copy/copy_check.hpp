// Checks before a copy or a fill.
#pragma once

#include "copy/plan.hpp"

namespace via {

VIA_NODISCARD Status check_writable(via_array *dst);

VIA_NODISCARD Status check_same_shape(via_array *dst, via_array *src);
VIA_NODISCARD Status check_same_type_and_shape(via_array *dst, via_array *src);

// Elements of dst must not share bytes.
VIA_NODISCARD Status check_self_overlap(const Plan &plan);

// dst and src must not share bytes.
VIA_NODISCARD Status check_mutual_overlap(const Plan &plan);

}  // namespace via
