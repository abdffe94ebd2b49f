// Plans of transposes.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// Plans tiles of whole sixteens where runs keep to them, otherwise loose ones, whose rows begin anywhere.
bool plan_tiles(const Shape &shape, KernelPlan *plan);

// Plans copies that interleave channels into pixels, or split them.
bool plan_channels(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
