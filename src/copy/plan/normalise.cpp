#include <algorithm>

#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "core/base/thread_state.hpp"
#include "core/layout/axes.hpp"

namespace via {
namespace {

// Steps in bits or bytes, relative to the arrays' data pointers.
struct Offsets {
    int64_t dst = 0;
    int64_t src = 0;
};

constexpr int64_t kNoSteps[VIA_MAX_NDIM] = {};

// Collects axes of more than one index. An array with more than 62 of them has too many elements to exist, so one more
// fits.
Offsets collect_axes(via_array *dst, const int64_t *src_steps, int64_t scale, Plan *plan) {
    const int64_t *shape = dst->shape();
    const int64_t *dst_steps = dst->steps();
    Offsets offsets;
    for (int32_t i = dst->ndim - 1; i >= 0; --i) {
        if (shape[i] == 1) {
            continue;
        }
        Axis axis{shape[i], dst_steps[i] * scale, src_steps[i] * scale};
        if (axis.dst_step < 0) {
            flip(&axis, &offsets.dst, &offsets.src);
        }
        insert_axis(axis, plan->axes, &plan->ndim);
    }
    return offsets;
}

// Returns whether all offsets and steps are whole bytes. One run may end inside a byte.
bool is_in_bytes(const Offsets &offsets, const Plan &plan) {
    const bool keeps_ends = offsets.dst % 8 == 0 && offsets.src % 8 == 0 && (plan.run % 8 == 0 || plan.ndim == 0);
    return keeps_ends && std::all_of(plan.axes, plan.axes + plan.ndim,
                                     [](const Axis &axis) { return axis.dst_step % 8 == 0 && axis.src_step % 8 == 0; });
}

// Converts bits that are whole bytes, but for the end of one run.
void to_bytes(Offsets *offsets, Plan *plan) {
    for (int32_t i = 0; i < plan->ndim; ++i) {
        plan->axes[i].dst_step /= 8;
        plan->axes[i].src_step /= 8;
    }
    plan->trailing_bits += static_cast<int32_t>(plan->run % 8);
    plan->run /= 8;
    *offsets = {offsets->dst / 8, offsets->src / 8};
}

void leave_in_bits(const Offsets &offsets, Plan *plan) {
    plan->in_bits = true;
    plan->dst_bit = offsets.dst;
    plan->src_bit = offsets.src;
}

Status check_packing(via_array *dst, via_array *src) {
    if (dst->item_bits == src->item_bits) [[likely]] {
        return VIA_OK;
    }
    return fail(VIA_ERROR_UNSUPPORTED, "dst has %s and src %s elements of %s; expected both packed or both padded",
                dst->is_packed() ? "packed" : "padded", src->is_packed() ? "packed" : "padded",
                DtypeName(dst->dtype).text);
}

void fill_in(void *dst, const void *src, int64_t run, int64_t nbytes, Plan *plan) {
    plan->dst = static_cast<char *>(dst);
    plan->src = static_cast<const char *>(src);
    plan->run = run;
    plan->nbytes = nbytes;
    plan->ndim = 0;
    plan->trailing_bits = 0;
    plan->in_bits = false;
    plan->dst_bit = 0;
    plan->src_bit = 0;
}

}  // namespace

Status normalise_copy(via_array *dst, via_array *src, Plan *out_plan) {
    count(Counter::NormalForms, 1);
    if (dst->is_row_major && src->is_row_major) [[likely]] {
        normalise_bytes(dst->data, src->data, dst->nbytes(), out_plan);
        return VIA_OK;
    }
    VIA_TRY(check_packing(dst, src));
    const bool packed = dst->is_packed();
    fill_in(dst->data, src->data, packed ? dst->item_bits : dst->item_bytes(), dst->nbytes(), out_plan);
    Offsets offsets = collect_axes(dst, src->steps(), packed ? dst->item_bits : 1, out_plan);
    merge_axes(&out_plan->run, out_plan->axes, &out_plan->ndim);
    if (packed && !is_in_bytes(offsets, *out_plan)) [[unlikely]] {
        leave_in_bits(offsets, out_plan);
        return VIA_OK;
    }
    if (packed) [[unlikely]] {
        to_bytes(&offsets, out_plan);
    }
    out_plan->dst += offsets.dst;
    out_plan->src += offsets.src;
    return VIA_OK;
}

namespace {

// Makes groups of adjacent elements that are whole bytes the elements of the plan. The last group of one dense run may
// be cut short. False, with the plan as it was, if the elements come in no such groups.
bool group_elements(const Offsets &offsets, int64_t group_bits, Plan *plan) {
    const int64_t item_bits = plan->run;
    const int64_t group = group_bits / item_bits;
    const Axis inner = plan->ndim > 0 ? plan->axes[0] : Axis{1, item_bits, 0};
    const int64_t rest = inner.extent % group;
    const bool fits = inner.dst_step == item_bits && (rest == 0 || plan->ndim <= 1) && offsets.dst % 8 == 0 &&
                      std::all_of(plan->axes + std::min(plan->ndim, 1), plan->axes + plan->ndim,
                                  [](const Axis &axis) { return axis.dst_step % 8 == 0; });
    if (!fits) {
        return false;
    }
    plan->run = group_bits;
    plan->ndim = std::max(plan->ndim, 1);
    plan->axes[0] = {inner.extent / group, group_bits, 0};
    plan->trailing_bits = static_cast<int32_t>(rest * item_bits);
    return true;
}

}  // namespace

void normalise_fill(via_array *dst, const char *element, int64_t group_bits, Plan *out_plan) {
    static constexpr char kZero = 0;
    const bool packed = dst->is_packed();
    const bool bytewise = element == nullptr && !packed;
    fill_in(dst->data, element == nullptr ? &kZero : element, packed ? dst->item_bits : dst->item_bytes(),
            dst->nbytes(), out_plan);
    Offsets offsets = collect_axes(dst, kNoSteps, packed ? dst->item_bits : 1, out_plan);
    if (bytewise && out_plan->run > 1) {
        // A zero of any size is so many zero bytes.
        insert_axis({out_plan->run, 1, 0}, out_plan->axes, &out_plan->ndim);
        out_plan->run = 1;
    }
    merge_axes(&out_plan->run, out_plan->axes, &out_plan->ndim);
    if (packed && !group_elements(offsets, group_bits, out_plan)) {
        leave_in_bits(offsets, out_plan);
        return;
    }
    if (packed) {
        to_bytes(&offsets, out_plan);
    }
    out_plan->dst += offsets.dst;
}

void normalise_bytes(void *dst, const void *src, int64_t nbytes, Plan *out_plan) {
    fill_in(dst, src, nbytes, nbytes, out_plan);
}

}  // namespace via
