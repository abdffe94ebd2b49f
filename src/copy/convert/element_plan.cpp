#include "copy/element_plan.hpp"

#include <algorithm>
#include <new>

#include "copy/convert/element_order.hpp"
#include "copy/copy_check.hpp"
#include "core/layout/casting.hpp"

namespace via {
namespace {

// Returns the bytes that are swapped: those of an element, or of each part of a complex number.
uint8_t swapped_bytes(ScalarKind kind) {
    return static_cast<uint8_t>(bytes_of(is_complex(kind) ? part_of_complex(kind) : kind));
}

bool swaps(via_array *src, const via_convert_options &options) {
    return options.byte_order == kOtherByteOrder && dtype_scalar_bits(src->dtype) > 8;
}

bool is_scalar(const via_convert_options &options) { return options.scale_count == 0 || options.scale_count == 1; }

// Returns the axis that scales and offsets go along, or -1.
int32_t numbered_axis(via_array *dst, const via_convert_options &options) {
    return !is_affine(options) || is_scalar(options) ? -1
                                                     : options.scale_axis + (options.scale_axis < 0 ? dst->ndim : 0);
}

Status check_numbers(const char *argument, via_array *array, bool takes_integers) {
    ScalarKind kind;
    const bool known = find_scalar_kind(array->dtype, &kind) && !is_complex(kind);
    if (known && (takes_integers || is_float_kind(kind))) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_DTYPE, "%s has dtype %s; expected %s for options.scale and options.offset", argument,
                DtypeName(array->dtype).text, takes_integers ? "booleans, integers or floats" : "floats");
}

Status check_affine(via_array *dst, via_array *src, const via_convert_options &options) {
    if (!is_affine(options)) {
        return VIA_OK;
    }
    VIA_TRY(check_numbers("dst", dst, false));
    VIA_TRY(check_numbers("src", src, true));
    if (is_scalar(options)) {
        return VIA_OK;
    }
    if (options.scale_axis < -dst->ndim || options.scale_axis >= dst->ndim) {
        return fail(VIA_ERROR_INDEX, "options.scale_axis is %d; expected an axis of %d dimensions", options.scale_axis,
                    dst->ndim);
    }
    const int64_t extent = dst->shape()[numbered_axis(dst, options)];
    return options.scale_count == extent
               ? VIA_OK
               : fail(VIA_ERROR_SHAPE, "options.scale_count is %lld; expected 1, or %lld along axis %d",
                      as_printed(options.scale_count), as_printed(extent), options.scale_axis);
}

void copy_numbers(const void *given, float otherwise, int64_t count, float *numbers) {
    const auto *from = static_cast<const float *>(given);
    given != nullptr ? std::copy_n(from, count, numbers) : std::fill_n(numbers, count, otherwise);
}

}  // namespace

Status check_convert_options(const via_convert_options &options) {
    VIA_TRY(check_casting(options.casting));
    if (options.overflow != VIA_OVERFLOW_INFINITY && options.overflow != VIA_OVERFLOW_SATURATE) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.overflow is %d; expected VIA_OVERFLOW_INFINITY or VIA_OVERFLOW_SATURATE",
                    options.overflow);
    }
    if (options.byte_order < VIA_BYTE_ORDER_NATIVE || options.byte_order > VIA_BYTE_ORDER_BIG) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.byte_order is %d; expected VIA_BYTE_ORDER_NATIVE, _LITTLE or _BIG", options.byte_order);
    }
    return VIA_OK;
}

Status check_convert_request(via_array *dst, via_array *src, const via_convert_options &options) {
    VIA_TRY(check_convert_options(options));
    VIA_TRY(check_cast(src->dtype, dst->dtype, options.casting));
    VIA_TRY(check_same_shape(dst, src));
    VIA_TRY(check_affine(dst, src, options));
    return check_writable(dst);
}

bool is_copy(via_array *dst, via_array *src, const via_convert_options &options) {
    return dst->dtype == src->dtype && !swaps(src, options) && !is_affine(options);
}

Status ElementPlan::make(via_array *dst, via_array *src, const via_convert_options &options, LoopOrder order) {
    VIA_TRY(find_elements(dst, src, is_affine(options), &elements_));
    if (dst->size == 0) {
        return VIA_OK;
    }
    elements_.saturates = options.overflow == VIA_OVERFLOW_SATURATE;
    elements_.swap_bytes = swaps(src, options) ? swapped_bytes(elements_.src) : 0;
    numbered_ = numbered_axis(dst, options);
    const bool is_reversed = make_element_loops(dst, src, elements_, order, numbered_, &loops_);
    return is_affine(options) ? keep_affine(options, is_reversed) : VIA_OK;
}

// Copies scales and offsets in the order of the loops.
Status ElementPlan::keep_affine(const via_convert_options &options, bool is_reversed) {
    const int64_t count = std::max<int64_t>(options.scale_count, 1);
    numbers_.reset(new (std::nothrow) float[static_cast<size_t>(2 * count)]);
    if (numbers_ == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %lld scales and offsets", as_printed(count));
    }
    float *const scales = numbers_.get();
    float *const offsets = scales + count;
    copy_numbers(options.scale, 1.0F, count, scales);
    copy_numbers(options.offset, 0.0F, count, offsets);
    if (is_reversed) {
        std::reverse(scales, scales + count);
        std::reverse(offsets, offsets + count);
    }
    affine_ = {scales, offsets};
    elements_.affine = &affine_;
    return VIA_OK;
}

}  // namespace via
