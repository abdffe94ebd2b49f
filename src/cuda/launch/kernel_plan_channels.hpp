// Plans of copies that put channels together into pixels, or take them apart.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

bool plan_channels(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
