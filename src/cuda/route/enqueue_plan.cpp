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
    const ResolvedStream &stream;

    Status operator()(const DriverPlan &) const { return VIA_OK; }
    Status operator()(const PeerPlan &plan) const { return prepare_peer_copy(transfer, plan, stream); }
    Status operator()(const StagedPlan &) const { return VIA_OK; }
    Status operator()(const BouncePlan &) const { return VIA_OK; }
    Status operator()(const KernelCopyPlan &) const { return prepare_kernel(transfer, stream); }

    Status operator()(const LinkCopyPlan &plan) const {
        VIA_TRY(check_device_of_stream(transfer, stream));
        return plan.route == LinkRoute::Rows ? VIA_OK : prepare_kernel(transfer, stream);
    }
};

struct Enqueue {
    const Transfer &transfer;
    const ResolvedStream &stream;

    Status operator()(const DriverPlan &) const {
        return stream.capturing ? capture_driver_copy(transfer, stream) : copy_by_driver(transfer, stream);
    }

    Status operator()(const PeerPlan &plan) const { return enqueue_peer_copy(transfer, plan, stream); }

    Status operator()(const StagedPlan &) const {
        return fail(VIA_ERROR_INTERNAL, "a staged copy cannot be given to a stream");
    }

    Status operator()(const BouncePlan &plan) const { return copy_bounced(transfer, plan, stream); }
    Status operator()(const KernelCopyPlan &) const { return wait_if_straight(enqueue_kernel(transfer, stream)); }
    Status operator()(const LinkCopyPlan &plan) const {
        return wait_if_straight(enqueue_pinned(transfer, plan, stream));
    }

    // Pageable memory may go away, or be read, when the call has returned.
    Status wait_if_straight(Status status) const {
        return status == VIA_OK && has_pageable(transfer) ? wait_for_stream(stream) : status;
    }
};

}  // namespace

Status prepare_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    return std::visit(Prepare{transfer, stream}, plan);
}

Status enqueue_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    return std::visit(Enqueue{transfer, stream}, plan);
}

}  // namespace via::cuda
