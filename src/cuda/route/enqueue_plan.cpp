#include "cuda/route/enqueue_plan.hpp"

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/route/bounce_copy.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/pinned_copy.hpp"

namespace via::cuda {
namespace {

struct Prepare {
    const Transfer &transfer;
    const ResolvedStream &use;

    Status operator()(const DriverPlan &) const { return VIA_OK; }
    Status operator()(const PeerPlan &) const { return VIA_OK; }
    Status operator()(const StagedPlan &) const { return VIA_OK; }
    Status operator()(const BouncePlan &) const { return VIA_OK; }
    Status operator()(const KernelCopyPlan &) const { return prepare_kernel(transfer, use); }

    Status operator()(const PinnedCopyPlan &plan) const {
        VIA_TRY(check_device_of_stream(transfer, use));
        return plan.route == PinnedRoute::Rows ? VIA_OK : prepare_kernel(transfer, use);
    }

    Status operator()(const StridedPeerPlan &plan) const {
        VIA_TRY(check_peers(transfer, plan, use));
        return prepare_peer_copy(transfer, plan, use);
    }
};

struct Enqueue {
    const Transfer &transfer;
    const ResolvedStream &use;

    Status operator()(const DriverPlan &) const {
        return use.capturing ? capture_driver_copy(transfer, use) : copy_by_driver(transfer, use);
    }

    Status operator()(const PeerPlan &) const {
        return use.capturing ? capture_driver_copy(transfer, use) : copy_to_peer(transfer, use);
    }

    Status operator()(const StagedPlan &) const {
        return fail(VIA_ERROR_INTERNAL, "a staged copy cannot be given to a stream");
    }

    Status operator()(const BouncePlan &plan) const { return copy_bounced(transfer, plan, use); }
    Status operator()(const KernelCopyPlan &) const { return enqueue_kernel(transfer, use); }
    Status operator()(const PinnedCopyPlan &plan) const { return enqueue_pinned(transfer, plan, use); }
    Status operator()(const StridedPeerPlan &plan) const { return enqueue_strided_peer_copy(transfer, plan, use); }
};

}  // namespace

Status prepare_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    return std::visit(Prepare{transfer, use}, plan);
}

Status enqueue_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    return std::visit(Enqueue{transfer, use}, plan);
}

}  // namespace via::cuda
