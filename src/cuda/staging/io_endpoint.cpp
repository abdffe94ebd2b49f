#include "cuda/io_endpoint.hpp"

#include "cuda/route/copy_route.hpp"

namespace via::cuda {
namespace {

// All bytes cross, in the order in which they are outside.
bool is_in_order(const Transfer &transfer) {
    if (transfer.ndim == 0) {
        return true;
    }
    const StagedCopy copy = staged_copy(transfer, nullptr);
    PackedOrder order;
    make_staged_order(transfer, copy.plan, &order);
    return copy.plan.adjacent_on_host && order.nbytes == transfer.nbytes;
}

}  // namespace

bool can_stage_io(const Transfer &transfer) {
    return is_in_order(transfer) && has_ring(transfer.nbytes, device_of_transfer(transfer));
}

Status transfer_io(const IoTransfer &transfer, Fence **out_fence) {
    StagedCopy copy = staged_copy(*transfer.transfer, transfer.task);
    copy.io = transfer.io;
    copy.io_workers = transfer.workers;
    copy.io_phase = transfer.phase;
    return run_staged(copy, out_fence);
}

}  // namespace via::cuda
