// Plans copies that go element by element.
#pragma once

#include <algorithm>

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// How threads go through a copy: neighbours along the numbered axes, each along one axis.
struct ElementsWalk {
    int32_t axis;
    int64_t unit;    // indices from one element of a thread to the next
    int64_t each;    // elements of a thread
    bool is_shared;  // the last numbered axis is `axis`, as far as its first `unit` indices
    int32_t ndim;    // of the numbered ones
    int32_t numbered[VIA_MAX_NDIM + 1];
    int64_t count;  // numbers

    // Returns whether threads move along an axis, rather than blocks.
    bool has(int32_t i) const { return i == axis || std::find(numbered, numbered + ndim, i) != numbered + ndim; }
};

// A thread has more elements only where so many threads are left: a sixteenth of what an H200 runs at once.
constexpr int64_t kThreadsWanted = int64_t{132} * 128;

// Lets threads walk along an axis; -1 stands for a part of the one that fills a block. A thread has at most one `part`
// (the half, say, for 2) of the elements that it could have, and no more than leave so many `threads`. Returns false if
// no other axis is left to number.
bool make_walk(const Shape &shape, int32_t axis, int64_t threads, int64_t part, ElementsWalk *out_walk);

int64_t count_blocks(const Shape &shape, const ElementsWalk &walk);

// Plans along one axis, as make_walk does.
bool plan_elements_along(const Shape &shape, int32_t axis, int64_t threads, KernelPlan *plan);

// Takes the axis with the least cost. Plans any copy.
void plan_elements(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
