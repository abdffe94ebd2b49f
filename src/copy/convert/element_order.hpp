// Brings two arrays of different dtypes into normal form.
#pragma once

#include "copy/element_plan.hpp"
#include "core/array/array.hpp"
#include "core/layout/element_loops.hpp"
#include "core/layout/scalar_kinds.hpp"

namespace via {

// Finds how elements of src become those of dst. Complex numbers that stay complex are converted part by part. Elements
// of equal dtypes are bits, unless an affine step changes them.
// Errors: VIA_ERROR_UNSUPPORTED for packed elements.
VIA_NODISCARD Status find_elements(via_array *dst, via_array *src, bool is_affine, ElementConversion *out_elements);

// Makes the loops of arrays that are not empty. An affine step goes along axis `numbered`, unless that is -1. Returns
// true if the loop of that axis goes backwards.
bool make_element_loops(via_array *dst, via_array *src, const ElementConversion &elements, LoopOrder order,
                        int32_t numbered, ElementLoops *out_loops);

// Refuses a dst that overlaps itself or src. The loops have the order of dst.
VIA_NODISCARD Status check_overlap(const ElementLoops &loops, const ElementConversion &elements);

}  // namespace via
