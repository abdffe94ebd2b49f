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
    Crossing crossing;
    make_staged_crossing(transfer, copy.plan, &crossing);
    return copy.plan.adjacent_on_host && crossing.nbytes == transfer.nbytes;
}

}  // namespace

bool can_go_outside(const Transfer &transfer) {
    return is_in_order(transfer) && has_ring(transfer.nbytes, device_of_transfer(transfer));
}

Status transfer_outside(const OutsideTransfer &transfer, Mark **out_mark) {
    StagedCopy copy = staged_copy(*transfer.transfer, transfer.task);
    copy.outside = transfer.outside;
    copy.outside_workers = transfer.workers;
    copy.outside_phase = transfer.phase;
    return run_staged(copy, out_mark);
}

}  // namespace via::cuda
