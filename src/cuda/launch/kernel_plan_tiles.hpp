// Plans of transposes.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

bool plan_aligned_tiles(const Shape &shape, KernelPlan *plan);

bool plan_loose_tiles(const Shape &shape, KernelPlan *plan);

// Plans of copies that put channels together into pixels, or take them apart.

bool plan_channels(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
