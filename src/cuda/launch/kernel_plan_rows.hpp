// Plans of copies whose runs are adjacent in both arrays, but begin anywhere.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

bool plan_rows(const Shape &shape, KernelPlan *plan);

}  // namespace via::cuda
