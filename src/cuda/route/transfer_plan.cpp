#include "cuda/transfer_plan.hpp"

#include "core/base/thread_state.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/device.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/link_copy_plan.hpp"
#include "cuda/route/peer_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/staging/staging_threshold.hpp"

namespace via::cuda {
namespace {

constexpr char kWhat[] = "a strided copy on a device";

// Returns whether one side is device memory and the other one host memory.
bool is_over_link(const Transfer &transfer) {
    const Side &other = is_device(transfer.dst_side) ? transfer.src_side : transfer.dst_side;
    return has_device(transfer) && (is_pageable(other) || other.device_type == VIA_DEVICE_CUDA_HOST);
}

bool has_slots(const Transfer &transfer, Purpose purpose) {
    return purpose == Purpose::Execute ? has_ring(transfer.nbytes, device_of_transfer(transfer)) : may_have_ring();
}

// Returns whether copying row by row would take a stream too many calls.
bool is_too_much(const LinkCopyPlan &plan) {
    constexpr int64_t kMostCalls = 1000;
    return plan.route == LinkRoute::Rows && plan.calls > kMostCalls;
}

// Plans again without the ring if it cannot be had.
LinkCopyPlan choose_link_route(const Transfer &transfer, Purpose purpose, LinkMeans means) {
    const LinkCopyPlan plan = plan_link_copy(transfer, means);
    if (plan.route != LinkRoute::Staged || has_slots(transfer, purpose)) {
        return plan;
    }
    means.workers = 0;
    return plan_link_copy(transfer, means);
}

TransferPlan plan_over_link(const Transfer &transfer, Caller caller, Purpose purpose) {
    const int32_t device_id = device_of_transfer(transfer);
    const bool straight = is_straight(transfer);
    const bool pinned = straight || !has_pageable(transfer);
    const bool host = has_pageable(transfer) || caller == Caller::Waits;
    const bool kernels = runs_kernels(device_id);
    const LinkCopyPlan plan = choose_link_route(transfer, purpose,
                                                {.pinned = pinned,
                                                 .host = host,
                                                 .kernels = kernels,
                                                 .scratch = pinned && has_scratch(device_id),
                                                 .workers = host && !straight && may_have_ring() ? num_threads() : 0});
    switch (plan.route) {
        case LinkRoute::Kernel:
            return KernelCopyPlan{};
        case LinkRoute::Staged:
            return plan_staged(transfer, kernels);
        case LinkRoute::Bounced:
            return plan_bounce(transfer);
        default:
            return is_too_much(plan) && !kernels ? TransferPlan(KernelCopyPlan{}) : TransferPlan(plan);
    }
}

Status plan_between_devices(const Transfer &transfer, int32_t device_id, TransferPlan *out_plan) {
    const PeerPlan plan = plan_peer_copy(transfer, find_reach(transfer, device_id), device_id);
    VIA_TRY(plan.src_kernel ? need_kernels(transfer.src_side.device_id, kWhat) : VIA_OK);
    VIA_TRY(plan.dst_kernel ? need_kernels(transfer.dst_side.device_id, kWhat) : VIA_OK);
    *out_plan = plan;
    return VIA_OK;
}

Status plan_strided(const Transfer &transfer, Caller caller, Purpose purpose, TransferPlan *out_plan) {
    VIA_TRY(need_driver(kWhat));
    if (!is_over_link(transfer)) {
        *out_plan = KernelCopyPlan{};
        return has_device(transfer) ? need_kernels(device_of_transfer(transfer), kWhat) : VIA_OK;
    }
    *out_plan = plan_over_link(transfer, caller, purpose);
    return VIA_OK;
}

bool is_better_staged(const Transfer &transfer) {
    if (is_straight(transfer)) {
        return false;
    }
    if (is_pageable(transfer.src_side) && is_device(transfer.dst_side)) {
        return is_staged(Direction::ToDevice, transfer.nbytes, transfer.dst_side.device_id);
    }
    return is_device(transfer.src_side) && is_pageable(transfer.dst_side) &&
           is_staged(Direction::ToHost, transfer.nbytes, transfer.src_side.device_id, transfer.dst);
}

TransferPlan plan_adjacent(const Transfer &transfer, Purpose purpose) {
    return is_better_staged(transfer) && has_slots(transfer, purpose) ? TransferPlan(StagedPlan{})
                                                                      : TransferPlan(DriverPlan{});
}

}  // namespace

Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                     TransferPlan *out_plan) {
    count(Counter::PlannedRoutes, 1);
    if (devices_differ(transfer)) {
        VIA_TRY(need_driver(kWhat));
        return plan_between_devices(transfer, device_id, out_plan);
    }
    if (transfer.ndim > 0) {
        return plan_strided(transfer, caller, purpose, out_plan);
    }
    *out_plan = plan_adjacent(transfer, purpose);
    return VIA_OK;
}

}  // namespace via::cuda
