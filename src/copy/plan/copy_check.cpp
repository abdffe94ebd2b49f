#include "copy/copy_check.hpp"

#include <cstdio>

#include "copy/plan/overlap.hpp"
#include "core/base/checked.hpp"

namespace via {
namespace {

// Prints a shape, "2, 3". The longest has 64 extents whose product is below 2^63: some 80 digits in all.
struct ShapeText {
    explicit ShapeText(via_array *array) {
        size_t at = 0;
        text[0] = '\0';
        for (int32_t i = 0; i < array->ndim && at < sizeof text; ++i) {
            at += static_cast<size_t>(std::snprintf(text + at, sizeof text - at, i > 0 ? ", %lld" : "%lld",
                                                    static_cast<long long>(array->shape()[i])));
        }
    }
    char text[256];
};

Status shapes_differ(via_array *dst, via_array *src) {
    return fail(VIA_ERROR_SHAPE, "src has ndim %d and shape (%s); expected those of dst, ndim %d and shape (%s)",
                src->ndim, ShapeText(src).text, dst->ndim, ShapeText(dst).text);
}

Status dtypes_differ(via_array *dst, via_array *src) {
    return fail(VIA_ERROR_DTYPE, "src has dtype %s; expected that of dst, %s", DtypeName(src->dtype).text,
                DtypeName(dst->dtype).text);
}

// Returns the bytes of a run, with the byte that packed elements end in.
int64_t whole_run(const Plan &plan) { return plan.run + (plan.trailing_bits + 7) / 8; }

// Returns whether each step is at least what all inner loops span, so that no two runs meet. Packed elements that end
// inside a byte make one dense run, which cannot meet itself.
bool is_nested(const Plan &plan) {
    int64_t span = plan.run;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const Axis &axis = plan.axes[i];
        if (axis.dst_step < span) {
            return false;
        }
        span += (axis.extent - 1) * axis.dst_step;
    }
    return true;
}

// Addresses of the first byte and of the one after the last. Those of 2^63 bytes exceed an int64_t.
struct Range {
    uint64_t low;
    uint64_t high;
};

Range range_of(const Plan &plan, const void *first, int64_t Axis::*step) {
    const auto start = reinterpret_cast<uint64_t>(first);
    Range range{start, start + static_cast<uint64_t>(whole_run(plan))};
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const int64_t reach = (plan.axes[i].extent - 1) * plan.axes[i].*step;
        (reach < 0 ? range.low : range.high) += static_cast<uint64_t>(reach);
    }
    return range;
}

RunSet make_runs(const Plan &plan, int64_t start, int64_t Axis::*step) {
    return {start, whole_run(plan), plan.axes, plan.ndim, step};
}

// Checks in bits, counted from dst. Memory too far away for an int64_t of bits cannot overlap.
Status check_bits_apart(const Plan &plan) {
    int64_t distance = 0;
    if (__builtin_sub_overflow(reinterpret_cast<int64_t>(plan.src), reinterpret_cast<int64_t>(plan.dst), &distance) ||
        !multiply(distance, 8, &distance) || !add(distance, plan.src_bit, &distance)) {
        return VIA_OK;
    }
    const Overlap overlap =
        find_overlap(make_runs(plan, plan.dst_bit, &Axis::dst_step), make_runs(plan, distance, &Axis::src_step));
    return overlap == Overlap::None ? VIA_OK
                                    : fail(VIA_ERROR_OVERLAP, "dst %s src; expected separate memory",
                                           overlap == Overlap::Found ? "shares bits with" : "may share bits with");
}

Status self_overlap(const Plan &plan) {
    for (int32_t i = 0; i < plan.ndim; ++i) {
        if (plan.axes[i].dst_step == 0) {
            return fail(VIA_ERROR_OVERLAP,
                        "dst has stride 0 along an axis of extent %lld; expected elements without overlap",
                        static_cast<long long>(plan.axes[i].extent));
        }
    }
    switch (find_self_overlap(make_runs(plan, 0, &Axis::dst_step))) {
        case Overlap::None:
            return VIA_OK;
        case Overlap::Found:
            return fail(VIA_ERROR_OVERLAP, "dst has elements that share bytes; expected elements without overlap");
        default:
            return fail(VIA_ERROR_OVERLAP,
                        "dst may have elements that share bytes: with these strides it could not be ruled out; "
                        "expected elements without overlap");
    }
}

// Called if the ranges meet: single runs then share bytes.
Status mutual_overlap(const Plan &plan, const Range &dst, const Range &src) {
    const Overlap overlap = plan.ndim == 0
                                ? Overlap::Found
                                : find_overlap(make_runs(plan, reinterpret_cast<int64_t>(plan.dst), &Axis::dst_step),
                                               make_runs(plan, reinterpret_cast<int64_t>(plan.src), &Axis::src_step));
    if (overlap == Overlap::None) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_OVERLAP, "dst (bytes 0x%llx to 0x%llx) %s src (0x%llx to 0x%llx)%s; expected separate memory",
                static_cast<unsigned long long>(dst.low), static_cast<unsigned long long>(dst.high),
                overlap == Overlap::Found ? "shares bytes with" : "may share bytes with",
                static_cast<unsigned long long>(src.low), static_cast<unsigned long long>(src.high),
                overlap == Overlap::Found ? "" : ": with these strides it could not be ruled out");
}

}  // namespace

Status check_writable(via_array *dst) {
    if (dst->is_read_only()) [[unlikely]] {
        return fail(VIA_ERROR_READ_ONLY, "dst is read-only; expected an array that may be written");
    }
    return VIA_OK;
}

Status check_same_shape(via_array *dst, via_array *src) {
    if (dst->ndim != src->ndim) [[unlikely]] {
        return shapes_differ(dst, src);
    }
    for (int32_t i = 0; i < dst->ndim; ++i) {
        if (dst->shape()[i] != src->shape()[i]) [[unlikely]] {
            return shapes_differ(dst, src);
        }
    }
    return VIA_OK;
}

Status check_same_type_and_shape(via_array *dst, via_array *src) {
    return dst->dtype != src->dtype ? dtypes_differ(dst, src) : check_same_shape(dst, src);
}

Status check_self_overlap(const Plan &plan) { return is_nested(plan) ? VIA_OK : self_overlap(plan); }

Status check_mutual_overlap(const Plan &plan) {
    if (plan.in_bits) [[unlikely]] {
        return check_bits_apart(plan);
    }
    const Range dst = range_of(plan, plan.dst, &Axis::dst_step);
    const Range src = range_of(plan, plan.src, &Axis::src_step);
    return dst.high <= src.low || src.high <= dst.low ? VIA_OK : mutual_overlap(plan, dst, src);
}

}  // namespace via
