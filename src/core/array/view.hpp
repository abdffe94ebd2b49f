// Views: the same memory with another shape, order of axes or element type. No view copies.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

// Makes a negative axis one of 0 to count - 1. Errors: VIA_ERROR_INDEX.
VIA_NODISCARD Status resolve_axis(int32_t axis, int32_t count, int32_t *out_axis);

VIA_NODISCARD Status slice_view(via_array *array, const int64_t *start, const int64_t *count, const int64_t *step,
                                via_array **out_view);
VIA_NODISCARD Status select_view(via_array *array, int32_t axis, int64_t index, via_array **out_view);
VIA_NODISCARD Status permute_view(via_array *array, const int32_t *axes, via_array **out_view);
VIA_NODISCARD Status reshape_view(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_view);
VIA_NODISCARD Status broadcast_view(via_array *array, int32_t ndim, const int64_t *shape, via_array **out_view);
VIA_NODISCARD Status squeeze_view(via_array *array, int32_t count, const int32_t *axes, via_array **out_view);
VIA_NODISCARD Status expand_view(via_array *array, int32_t axis, via_array **out_view);
VIA_NODISCARD Status reinterpret_view(via_array *array, int32_t dtype, via_array **out_view);
VIA_NODISCARD Status field_view(via_array *array, int64_t byte_offset, int32_t dtype, int32_t ndim,
                                const int64_t *shape, via_array **out_view);
VIA_NODISCARD Status read_only_view(via_array *array, via_array **out_view);

}  // namespace via
