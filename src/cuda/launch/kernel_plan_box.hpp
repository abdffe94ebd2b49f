// Plans copies of any layout by the kernels of box.cuh: reads runs of src and writes runs of dst, by way of shared
// memory.
#pragma once

#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// How long the runs of dst and of src are in proportion, and which part of a block's memory a tile takes.
struct BoxKind {
    int32_t dst;
    int32_t src;
    int32_t part;
};

// All that are tried; the last one has no part.
extern const BoxKind box_kinds[];

// Plans a box of a kind, and estimates what it costs in microseconds. False if none fits the kernels; the plan is
// unspecified then.
bool plan_box_of(const Shape &shape, const BoxKind &kind, KernelPlan *out_plan, double *out_cost);

// Plans the box that is estimated to cost least. False if none fits, or none costs less than `most_cost`.
bool plan_box(const Shape &shape, double most_cost, KernelPlan *out_plan);

}  // namespace via::cuda
