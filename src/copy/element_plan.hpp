// How the elements of one array become those of another: what every conversion checks and plans, wherever it is done.
#pragma once

#include <memory>

#include "core/array/array.hpp"
#include "core/layout/element_loops.hpp"
#include "core/layout/scalar_kinds.hpp"

namespace via {

// The array that gives the order of the loops.
enum class LoopOrder : int32_t { OfDst, OfSrc };

// Refuses values that no conversion takes. Errors: VIA_ERROR_INVALID_ARGUMENT.
VIA_NODISCARD Status check_convert_options(const via_convert_options &options);

// Checks what every conversion checks, before the question whether it is one. Touches no element.
VIA_NODISCARD Status check_convert_request(via_array *dst, via_array *src, const via_convert_options &options);

// Returns whether a copy does the same: also for dtypes that no conversion knows.
bool is_copy(via_array *dst, via_array *src, const via_convert_options &options);

// Returns whether numbers are multiplied or added to.
constexpr bool is_affine(const via_convert_options &options) {
    return options.scale != nullptr || options.offset != nullptr;
}

// Holds scales and offsets, but no array. Stays where it is: the elements refer to it.
class ElementPlan {
public:
    ElementPlan() = default;
    ElementPlan(const ElementPlan &) = delete;
    ElementPlan &operator=(const ElementPlan &) = delete;

    // Plans for a request that was checked; compares no addresses. Without elements there are no loops. Errors:
    // VIA_ERROR_DTYPE, VIA_ERROR_UNSUPPORTED for packed elements, VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status make(via_array *dst, via_array *src, const via_convert_options &options, LoopOrder order);

    const ElementConversion &elements() const { return elements_; }
    const ElementLoops &loops() const { return loops_; }

private:
    VIA_NODISCARD Status keep_affine(const via_convert_options &options, bool is_reversed);

    ElementConversion elements_{};
    ElementLoops loops_{};
    AffineStep affine_{};
    std::unique_ptr<float[]> numbers_;  // of the affine step: scales, and offsets
};

// Refuses a dst that overlaps itself or src. The loops have the order of dst.
VIA_NODISCARD Status check_overlap(const ElementLoops &loops, const ElementConversion &elements);

// Converts on as many threads as that is worth. Steps of dst are positive and ascend.
void convert_elements(const ElementLoops &loops, const ElementConversion &elements);

// Converts elements first to first + count - 1 on the calling thread.
void convert_part(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count);

// Do the same between an array and packed elements; what is packed, a device reads next. The array on the other side
// than the packed one gives the order of the loops, or both do.
void convert_to_packed(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count,
                       void *packed);
void convert_from_packed(const ElementLoops &loops, const ElementConversion &elements, int64_t first, int64_t count,
                         const void *packed);

// Stores adjacent numbers of `width` bytes, 2, 4 or 8, with their bytes in reverse order, on the calling thread. dst is
// src or does not overlap it.
void swap_bytes(void *dst, const void *src, int64_t nbytes, int64_t width);

}  // namespace via
