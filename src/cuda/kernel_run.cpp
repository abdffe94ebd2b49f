#include "cuda/kernel_run.hpp"

#include "cuda/kernel_plan.hpp"
#include "cuda/module.hpp"

namespace via::cuda {

Status enqueue_kernel(const Transfer &transfer, const StreamUse &use) {
    KernelPlan plan;
    plan_kernel(transfer, &plan);
    return launch(plan.kernel, plan.blocks, &plan.params, use);
}

}  // namespace via::cuda
