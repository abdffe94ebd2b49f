// Plans of transposes whose runs share axes.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

bool plan_gather(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
