#include "copy/element_plan.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "copy/copy_check.hpp"
#include "copy/normalise.hpp"
#include "copy/plan/overlap.hpp"
#include "core/base/rounding.hpp"
#include "core/layout/axes.hpp"

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

// ---- The normal form of two arrays whose elements differ in size.

// Lanes narrower than a byte are packed too, where all of them take whole bytes.
bool is_unpacked(via_array *array) {
    const int64_t lane_bits = round_up(int64_t{dtype_scalar_bits(array->dtype)}, int64_t{8});
    return dtype_is_record(array->dtype) || array->item_bits == dtype_lanes(array->dtype) * lane_bits;
}

Status check_unpacked(const char *argument, via_array *array) {
    return is_unpacked(array)
               ? VIA_OK
               : fail(VIA_ERROR_UNSUPPORTED, "%s has packed elements of %s; expected elements of a byte each", argument,
                      DtypeName(array->dtype).text);
}

// Collects axes as for an array whose steps come first, and gives them back as they are.
class Collector {
public:
    Collector(LoopOrder order, ElementLoops *loops) : by_src_(order == LoopOrder::OfSrc), loops_(loops) {}

    void add(int64_t extent, int64_t dst_step, int64_t src_step, bool is_numbered = false) {
        if (extent == 1) {
            return;
        }
        Axis axis{extent, by_src_ ? src_step : dst_step, by_src_ ? dst_step : src_step};
        const bool is_backward = axis.dst_step < 0;
        if (is_backward) {
            flip(&axis, by_src_ ? &src_offset_ : &dst_offset_, by_src_ ? &dst_offset_ : &src_offset_);
        }
        const int32_t at = insert_axis(axis, loops_->axes, &loops_->ndim);
        if (is_numbered) {
            loops_->numbered = at;
            is_reversed_ = is_backward;
        } else if (at <= loops_->numbered) {
            ++loops_->numbered;
        }
    }

    void finish(int64_t dst_bytes, int64_t src_bytes) {
        merge_loops(loops_);
        for (int32_t i = 0; by_src_ && i < loops_->ndim; ++i) {
            std::swap(loops_->axes[i].dst_step, loops_->axes[i].src_step);
        }
        if (loops_->ndim == 0) {
            loops_->axes[loops_->ndim++] = {1, dst_bytes, src_bytes};
        }
        loops_->dst += dst_offset_;
        loops_->src += src_offset_;
    }

    bool is_reversed() const { return is_reversed_; }

private:
    const bool by_src_;
    ElementLoops *const loops_;
    bool is_reversed_ = false;
    int64_t dst_offset_ = 0;
    int64_t src_offset_ = 0;
};

// Returns the bytes of one lane, with both parts of a complex number.
int64_t lane_bytes(via_array *array) { return array->item_bytes() / dtype_lanes(array->dtype); }

// Returns whether the bits stay: of one kind, in another byte order, or of integers of one size, which wrap.
bool have_same_bits(ScalarKind dst, ScalarKind src) {
    return dst == src || (is_whole_integer(dst) && is_whole_integer(src) && bytes_of(dst) == bytes_of(src));
}

// Finds how elements of src become those of dst. Complex numbers that stay complex are converted part by part. Elements
// of the same bits are copied as such, unless an affine step changes them.
// Errors: VIA_ERROR_UNSUPPORTED for packed elements.
Status find_elements(via_array *dst, via_array *src, bool is_affine, ElementConversion *out_elements) {
    VIA_TRY(check_unpacked("dst", dst));
    VIA_TRY(check_unpacked("src", src));
    *out_elements = {};
    if (!find_scalar_kind(dst->dtype, &out_elements->dst) || !find_scalar_kind(src->dtype, &out_elements->src)) {
        return fail(VIA_ERROR_DTYPE, "src has dtype %s; expected booleans, integers, floats or complex numbers",
                    DtypeName(src->dtype).text);
    }
    if (is_complex(out_elements->src) && out_elements->dst != ScalarKind::Bool) {
        out_elements->src = part_of_complex(out_elements->src);
        out_elements->dst = is_complex(out_elements->dst) ? part_of_complex(out_elements->dst) : out_elements->dst;
    }
    if (have_same_bits(out_elements->dst, out_elements->src) && !is_affine) {
        out_elements->dst = out_elements->src = raw_kind(bytes_of(out_elements->src));
    }
    return VIA_OK;
}

// Makes the loops of arrays that are not empty. An affine step goes along axis `numbered`, unless that is -1. Returns
// true if the loop of that axis goes backwards.
bool make_element_loops(via_array *dst, via_array *src, const ElementConversion &elements, LoopOrder order,
                        int32_t numbered, ElementLoops *out_loops) {
    const int64_t dst_bytes = bytes_of(elements.dst);
    const int64_t src_bytes = bytes_of(elements.src);
    const int32_t lanes = dtype_lanes(dst->dtype);
    const bool by_parts = lane_bytes(dst) > dst_bytes;
    out_loops->dst = static_cast<char *>(dst->data);
    out_loops->src = static_cast<const char *>(src->data);
    out_loops->count = dst->size * lanes * (by_parts ? 2 : 1);
    out_loops->ndim = 0;
    out_loops->numbered = -1;
    out_loops->number = 0;
    Collector collector(order, out_loops);
    collector.add(by_parts ? 2 : 1, dst_bytes, src_bytes);
    collector.add(lanes, lane_bytes(dst), lane_bytes(src));
    for (int32_t i = dst->ndim - 1; i >= 0; --i) {
        collector.add(dst->shape()[i], dst->steps()[i], src->steps()[i], i == numbered);
    }
    collector.finish(dst_bytes, src_bytes);
    return collector.is_reversed();
}

}  // namespace

Status check_overlap(const ElementLoops &loops, const ElementConversion &elements) {
    Plan written;
    normalise_bytes(loops.dst, loops.src, bytes_of(elements.dst), &written);
    written.ndim = loops.ndim;
    std::copy_n(loops.axes, loops.ndim, written.axes);
    VIA_TRY(check_self_overlap(written));
    const RunSet dst(reinterpret_cast<int64_t>(loops.dst), bytes_of(elements.dst), loops.axes, loops.ndim,
                     &Axis::dst_step);
    const RunSet src(reinterpret_cast<int64_t>(loops.src), bytes_of(elements.src), loops.axes, loops.ndim,
                     &Axis::src_step);
    const Overlap overlap = find_overlap(dst, src);
    return overlap == Overlap::None ? VIA_OK
                                    : fail(VIA_ERROR_OVERLAP, "dst %s src; expected separate memory",
                                           overlap == Overlap::Found ? "shares bytes with" : "may share bytes with");
}

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
    const bool is_reversed = make_element_loops(dst, src, elements_, order, numbered_axis(dst, options), &loops_);
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
