// Arrays of host memory as spans of C++ types.
#ifndef VIADUCT_CPP_ELEMENTS_HPP
#define VIADUCT_CPP_ELEMENTS_HPP

#include <type_traits>
#if defined(__has_include)
#if __has_include(<mdspan>) && __cplusplus > 202002L
#include <mdspan>
#endif
#endif
#if defined(__cpp_lib_mdspan)
#include <array>
#endif

#include "viaduct/cpp/array.hpp"

namespace viaduct {
inline namespace VIADUCT_ERRORS_NAMESPACE {
namespace detail {

inline bool is_host(std::int32_t device_type) { return device_type != VIA_DEVICE_CUDA; }

// Why elements of type T cannot be read at the array's address; nullptr if they can.
template <class T>
const char *why_not_elements(const Array &array) {
    if (array.dtype() != dtype_of<T>) {
        return "the array's dtype is not that of the C++ type";
    }
    if (!std::is_const_v<T> && (array.flags() & VIA_ARRAY_READ_ONLY) != 0) {
        return "the array is read-only; its elements are const";
    }
    if (!is_host(array.device().type) || (array.flags() & VIA_ARRAY_MISALIGNED) != 0) {
        return "the elements are on a device or off their alignment";
    }
    return nullptr;
}

template <class T>
via_status status_of_elements(const Array &array) {
    if (array.dtype() != dtype_of<T>) {
        return VIA_ERROR_DTYPE;
    }
    const bool writes = !std::is_const_v<T> && (array.flags() & VIA_ARRAY_READ_ONLY) != 0;
    return writes ? VIA_ERROR_READ_ONLY : VIA_ERROR_NEEDS_COPY;
}

}  // namespace detail

/**
 * The elements of a dense row-major array of host memory; const T reads, T needs an array that may be written. Pending
 * work of a device is not waited for: synchronize() first where there may be some. The span borrows from the array.
 */
template <class T>
[[nodiscard]] Result<Span<T>> elements(const Array &array) {
    if (const char *reason = detail::why_not_elements<T>(array)) {
        return detail::refuse<Span<T>>(detail::status_of_elements<T>(array), reason);
    }
    if (!array.is_contiguous()) {
        return detail::refuse<Span<T>>(VIA_ERROR_NEEDS_COPY, "the elements do not lie dense in row-major order");
    }
    return Span<T>(array.data<T>(), static_cast<std::size_t>(array.size()));
}

#if defined(__cpp_lib_mdspan)

/** An array of `kRank` dimensions with the strides it has. */
template <class T, std::size_t kRank>
using StridedSpan = std::mdspan<T, std::dextents<std::int64_t, kRank>, std::layout_stride>;

/** The elements of an array of host memory whose strides are positive; else as elements(). */
template <class T, std::size_t kRank>
[[nodiscard]] Result<StridedSpan<T, kRank>> strided_elements(const Array &array) {
    using View = StridedSpan<T, kRank>;
    if (const char *reason = detail::why_not_elements<T>(array)) {
        return detail::refuse<View>(detail::status_of_elements<T>(array), reason);
    }
    if (array.ndim() != static_cast<std::int32_t>(kRank)) {
        return detail::refuse<View>(VIA_ERROR_SHAPE, "the array has not as many dimensions as the span");
    }
    std::array<std::int64_t, kRank> shape{}, strides{};
    for (std::size_t axis = 0; axis < kRank; ++axis) {
        shape[axis] = array.shape()[axis];
        strides[axis] = array.strides().empty() ? 0 : array.strides()[axis];
        if (strides[axis] <= 0) {
            return detail::refuse<View>(VIA_ERROR_NEEDS_COPY, "a stride is not a positive number of elements");
        }
    }
    const std::dextents<std::int64_t, kRank> extents(shape);
    return View(array.data<T>(), typename View::mapping_type(extents, strides));
}

#endif

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
