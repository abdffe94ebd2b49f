#include "cuda/kernel_run.hpp"

#include "cuda/kernel_plan.hpp"
#include "cuda/module.hpp"

namespace via::cuda {
namespace {

template <class Width>
void fill_in(const KernelPlan &plan, kernels::ElementsParams<Width> *params) {
    using Index = typename Width::Index;
    using Step = typename Width::Step;
    params->dst = plan.dst;
    params->src = plan.src;
    params->count = static_cast<Index>(plan.count);
    params->ndim = plan.ndim;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const Axis &axis = plan.axes[i];
        params->axes[i] = {kernels::make_divisor<Index>(axis.extent), static_cast<Step>(axis.dst_step),
                           static_cast<Step>(axis.src_step)};
    }
}

template <class Width>
Status launch_elements(const KernelPlan &plan, const StreamUse &use) {
    kernels::ElementsParams<Width> params;
    fill_in(plan, &params);
    return launch(plan.kernel, plan.blocks, &params, use);
}

}  // namespace

Status enqueue_kernel(const Transfer &transfer, const StreamUse &use) {
    KernelPlan plan;
    plan_kernel(transfer, &plan);
    return plan.kernel < kernels::Id::via_elements_wide_1 ? launch_elements<kernels::Narrow>(plan, use)
                                                          : launch_elements<kernels::Wide>(plan, use);
}

}  // namespace via::cuda
