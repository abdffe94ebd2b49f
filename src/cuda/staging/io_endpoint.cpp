#include "cuda/io_endpoint.hpp"

#include "cuda/device.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/staging/staging.hpp"

namespace via::cuda {
namespace {

// Returns whether all bytes cross in the order of the endpoint.
bool is_in_order(const Transfer &transfer, const StagedPlan &plan) {
    if (transfer.ndim == 0) {
        return true;
    }
    PackedOrder order;
    make_staged_order(transfer, plan, &order);
    return plan.adjacent_on_host && order.nbytes == transfer.nbytes;
}

}  // namespace

bool can_stage_io(const Transfer &transfer, StagedPlan *out_plan) {
    const int32_t device_id = device_of_transfer(transfer);
    *out_plan = transfer.ndim > 0 ? plan_staged(transfer, runs_kernels(device_id)) : StagedPlan{};
    return is_in_order(transfer, *out_plan) && has_ring(transfer.nbytes, device_id);
}

Status transfer_io(const IoTransfer &transfer, Fence **out_fence) {
    StagedCopy copy = staged_copy(*transfer.transfer, transfer.plan, transfer.task);
    copy.io = transfer.io;
    copy.io_workers = transfer.workers;
    copy.io_phase = transfer.phase;
    return run_staged(copy, out_fence);
}

}  // namespace via::cuda
