// Remembers how kernels copy the layouts of late: comparing tiles takes as long as a kernel that moves some megabytes.
#pragma once

#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// Plans like plan_kernel, or takes the plan of an earlier transfer of the same layout, wherever its memory was.
void plan_or_recall_kernel(const Transfer &transfer, FarSide far_side, KernelPlan *out_plan);

}  // namespace via::cuda
