// Arrays of host memory as spans of C++ types.
#ifndef VIADUCT_CPP_ELEMENTS_HPP
#define VIADUCT_CPP_ELEMENTS_HPP

#include <string>
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

// Checks that elements of this dtype can be accessed at the array's address, dense or not.
inline via_status check_elements(const Array &array, std::int32_t dtype, bool writes) {
    if (array.dtype() != dtype) {
        return VIA_ERROR_DTYPE;
    }
    if (writes && (array.flags() & VIA_ARRAY_READ_ONLY) != 0) {
        return VIA_ERROR_READ_ONLY;
    }
    if (array.device().type == VIA_DEVICE_CUDA) {
        return VIA_ERROR_DEVICE;
    }
    return (array.flags() & VIA_ARRAY_MISALIGNED) != 0 ? VIA_ERROR_NEEDS_COPY : VIA_OK;
}

inline std::string why_not_elements(const Array &array, std::int32_t dtype, via_status status) {
    switch (status) {
        case VIA_ERROR_DTYPE:
            return "array has dtype " + dtype_text(array.dtype()) + "; expected " + dtype_text(dtype) +
                   ", that of the C++ type";
        case VIA_ERROR_READ_ONLY:
            return "array is read-only; expected const elements";
        case VIA_ERROR_DEVICE:
            return "array is on CUDA device " + std::to_string(array.device().id) + "; expected host memory";
        default:
            return "array is off its alignment; expected elements at multiples of it";
    }
}

template <class T, class Elements>
[[nodiscard, gnu::cold, gnu::noinline]] Result<Elements> refuse_elements(const char *call, const Array &array,
                                                                         via_status status) {
    return refuse<Elements>(status, std::string(call) + ": " + why_not_elements(array, dtype_of<T>, status));
}

}  // namespace detail

/**
 * Returns the elements of a dense row-major array of host memory; T other than const needs a writable array. Does not
 * wait for pending work of a device: call synchronize() first. The span borrows from the array.
 */
template <class T>
[[nodiscard]] Result<Span<T>> elements(const Array &array) {
    const via_status status = detail::check_elements(array, dtype_of<T>, !std::is_const_v<T>);
    if (status != VIA_OK) {
        return detail::refuse_elements<T, Span<T>>("elements", array, status);
    }
    if (!array.is_contiguous()) {
        return detail::refuse<Span<T>>(VIA_ERROR_NEEDS_COPY,
                                       "elements: array has gaps or another order; expected dense row-major elements");
    }
    return Span<T>(array.data<T>(), static_cast<std::size_t>(array.size()));
}

/** Deleted: the span would outlive the temporary array that holds the memory. Name the array first. */
template <class T>
Result<Span<T>> elements(const Array &&array) = delete;

#if defined(__cpp_lib_mdspan)

/** A view of an array of `kRank` dimensions, of any strides. */
template <class T, std::size_t kRank>
using StridedSpan = std::mdspan<T, std::dextents<std::int64_t, kRank>, std::layout_stride>;

/**
 * Returns the elements of an array of host memory, whose strides are positive along axes of 2 and more; otherwise as
 * elements().
 */
template <class T, std::size_t kRank>
[[nodiscard]] Result<StridedSpan<T, kRank>> strided_elements(const Array &array) {
    using View = StridedSpan<T, kRank>;
    const via_status status = detail::check_elements(array, dtype_of<T>, !std::is_const_v<T>);
    if (status != VIA_OK) {
        return detail::refuse_elements<T, View>("strided_elements", array, status);
    }
    if (array.ndim() != static_cast<std::int32_t>(kRank)) {
        return detail::refuse<View>(VIA_ERROR_SHAPE, "strided_elements: array has " + std::to_string(array.ndim()) +
                                                         " dimensions; expected " + std::to_string(kRank));
    }
    std::array<std::int64_t, kRank> shape{}, strides{};
    for (std::size_t axis = 0; axis < kRank; ++axis) {
        shape[axis] = array.shape()[axis];
        strides[axis] = array.strides().empty() ? 0 : array.strides()[axis];
        if (shape[axis] <= 1) {
            strides[axis] = 1;  // never taken, and an mdspan's must be positive
        }
        if (strides[axis] <= 0) {
            return detail::refuse<View>(
                VIA_ERROR_NEEDS_COPY,
                "strided_elements: stride of axis " + std::to_string(axis) + " is " +
                    std::to_string(array.byte_strides().empty() ? 0 : array.byte_strides()[axis]) +
                    " bytes; expected a positive number of elements");
        }
    }
    const std::dextents<std::int64_t, kRank> extents(shape);
    return View(array.data<T>(), typename View::mapping_type(extents, strides));
}

/** Deleted, as elements() of a temporary. */
template <class T, std::size_t kRank>
Result<StridedSpan<T, kRank>> strided_elements(const Array &&array) = delete;

#endif

}  // namespace VIADUCT_ERRORS_NAMESPACE
}  // namespace viaduct

#endif
