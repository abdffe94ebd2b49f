// Plans of transposes.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

bool plan_aligned_tiles(const Shape &shape, KernelPlan *plan);

bool plan_loose_tiles(const Shape &shape, KernelPlan *plan);

// Plans copies that interleave channels into pixels, or split them.
bool plan_channels(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
