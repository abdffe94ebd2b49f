#include "cuda/kernel_plan.hpp"

#include <cstdio>

namespace via::cuda {
namespace {

using kernels::Id;

constexpr int64_t kMostNarrow = INT32_MAX;

// The largest unit of 16, 8, 4, 2 and 1 bytes that every address, step and run is a multiple of.
int32_t unit_of(const Transfer &transfer) {
    uint64_t all = reinterpret_cast<uint64_t>(transfer.dst) | reinterpret_cast<uint64_t>(transfer.src) |
                   static_cast<uint64_t>(transfer.run) | 16;
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        all |= static_cast<uint64_t>(transfer.axes[i].dst_step) | static_cast<uint64_t>(transfer.axes[i].src_step);
    }
    return static_cast<int32_t>(all & (~all + 1));
}

void collect_axes(const Transfer &transfer, KernelPlan *plan) {
    plan->ndim = 0;
    if (transfer.run > plan->unit) {
        plan->axes[plan->ndim++] = {transfer.run / plan->unit, 1, 1};
    }
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        const Axis &axis = transfer.axes[i];
        plan->axes[plan->ndim++] = {axis.extent, axis.dst_step / plan->unit, axis.src_step / plan->unit};
    }
}

int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

// Whether no offset leaves 32 bits, wherever the additions along the axes lead in between.
bool is_narrow(const KernelPlan &plan) {
    int64_t dst_span = 0;
    int64_t src_span = 0;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        dst_span += (plan.axes[i].extent - 1) * magnitude(plan.axes[i].dst_step);
        src_span += (plan.axes[i].extent - 1) * magnitude(plan.axes[i].src_step);
    }
    return plan.ndim <= kernels::Narrow::kAxes && plan.count <= kMostNarrow && dst_span <= kMostNarrow &&
           src_span <= kMostNarrow;
}

Id elements_kernel(int32_t unit, bool narrow) {
    switch (unit) {
        case 1:
            return narrow ? Id::via_elements_1 : Id::via_elements_wide_1;
        case 2:
            return narrow ? Id::via_elements_2 : Id::via_elements_wide_2;
        case 4:
            return narrow ? Id::via_elements_4 : Id::via_elements_wide_4;
        case 8:
            return narrow ? Id::via_elements_8 : Id::via_elements_wide_8;
        default:
            return narrow ? Id::via_elements_16 : Id::via_elements_wide_16;
    }
}

}  // namespace

void plan_kernel(const Transfer &transfer, KernelPlan *out_plan) {
    out_plan->dst = reinterpret_cast<uint64_t>(transfer.dst);
    out_plan->src = reinterpret_cast<uint64_t>(transfer.src);
    out_plan->unit = unit_of(transfer);
    out_plan->count = transfer.nbytes / out_plan->unit;
    collect_axes(transfer, out_plan);
    out_plan->kernel = elements_kernel(out_plan->unit, is_narrow(*out_plan));
    constexpr int64_t kPerBlock = kernels::Elements<uint8_t, kernels::Narrow>::kPerBlock;
    out_plan->blocks = static_cast<uint32_t>((out_plan->count + kPerBlock - 1) / kPerBlock);
}

void describe_kernel(const KernelPlan &plan, int64_t capacity, char *out_text) {
    const kernels::Info &info = kernels::info(plan.kernel);
    (void)std::snprintf(out_text, static_cast<size_t>(capacity), "%s, %d bytes at once, %u blocks of %u threads",
                        info.name, plan.unit, plan.blocks, info.threads);
}

}  // namespace via::cuda
