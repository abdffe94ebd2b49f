// Plans copies of any layout by the kernels of box.cuh: reads runs of src and writes runs of dst, by way of shared
// memory.
#pragma once

#include <span>

#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// The proportion of runs of dst and src, and the part of a block's memory that a tile takes.
struct BoxKind {
    int32_t dst;
    int32_t src;
    int32_t part;
};

// The kinds that are tried: runs of dst as long as those of src, longer and shorter, and one for both sides that go the
// same way. Tiles take all memory of a block, or less, so that small copies have tiles for every multiprocessor.
constexpr BoxKind kBoxKinds[] = {{1, 1, 1}, {2, 1, 1},   {1, 2, 1}, {4, 1, 1}, {1, 4, 1},
                                 {8, 1, 1}, {256, 1, 1}, {1, 1, 2}, {1, 1, 4}};

// Plans the box with the least estimated cost. Returns false, and leaves the plan as it is, if none fits the kernels,
// or none costs less than `most_cost`.
bool plan_box(const Shape &shape, double most_cost, KernelPlan *out_plan, std::span<const BoxKind> kinds = kBoxKinds);

}  // namespace via::cuda
