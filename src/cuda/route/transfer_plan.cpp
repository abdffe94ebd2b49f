#include "cuda/transfer_plan.hpp"

#include "core/base/thread_state.hpp"
#include "cuda/device.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/memory/stream_scratch.hpp"
#include "cuda/route/bounce_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/staging/staging_threshold.hpp"

namespace via::cuda {
namespace {

constexpr char kWhat[] = "a strided copy on a device";

// One side is a device's memory, the other one the host's.
bool is_over_link(const Transfer &transfer) {
    const Side &other = is_device(transfer.dst_side) ? transfer.src_side : transfer.dst_side;
    return has_device(transfer) && (is_pageable(other) || other.device_type == VIA_DEVICE_CUDA_HOST);
}

bool has_slots(const Transfer &transfer, Purpose purpose) {
    return purpose == Purpose::Execute ? has_ring(transfer.nbytes, device_of_transfer(transfer)) : may_have_ring();
}

// In the order of the device's memory, which takes the fewest calls.
BouncePlan plan_bounce(const Transfer &transfer) { return {plan_staged(transfer, false)}; }

// The ring is too much for a little, unless that would take many calls.
TransferPlan plan_pageable(const Transfer &transfer, Purpose purpose) {
    constexpr int64_t kMostCalls = 16;
    if (transfer.nbytes < kLeastStaged) {
        const BouncePlan bounce = plan_bounce(transfer);
        if (count_bounce_calls(transfer, bounce) <= kMostCalls || !has_slots(transfer, purpose)) {
            return bounce;
        }
    } else if (!has_slots(transfer, purpose)) {
        return plan_bounce(transfer);
    }
    return plan_staged(transfer, runs_kernels(device_of_transfer(transfer)));
}

// Without kernels copy engines are left, and the host, if it may: row by row they are asked up to a point.
bool is_too_much(const PinnedCopyPlan &plan, bool kernels) {
    constexpr int64_t kMostCalls = 1000;
    return plan.route == PinnedRoute::Rows && plan.calls > kMostCalls && !kernels;
}

TransferPlan plan_pinned(const Transfer &transfer, Caller caller, Purpose purpose) {
    const int32_t device_id = device_of_transfer(transfer);
    const bool waits = caller == Caller::Waits;
    const bool kernels = runs_kernels(device_id);
    PinnedCopyPlan plan;
    plan_pinned_copy(transfer, {kernels, has_scratch(device_id), waits && may_have_ring()}, &plan);
    const bool too_much = is_too_much(plan, kernels);
    if (plan.route == PinnedRoute::Kernel || (too_much && !waits)) {
        return KernelCopyPlan{};
    }
    return plan.route == PinnedRoute::Staged || too_much ? plan_pageable(transfer, purpose) : TransferPlan(plan);
}

Status plan_between_devices(const Transfer &transfer, int32_t device_id, TransferPlan *out_plan) {
    const StridedPeerPlan plan = plan_peer(transfer, device_id);
    VIA_TRY(plan.packs ? need_kernels(transfer.src_side.device_id, kWhat) : VIA_OK);
    VIA_TRY(plan.unpacks ? need_kernels(transfer.dst_side.device_id, kWhat) : VIA_OK);
    *out_plan = plan;
    return VIA_OK;
}

Status plan_strided(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                    TransferPlan *out_plan) {
    VIA_TRY(need_driver(kWhat));
    if (devices_differ(transfer)) {
        return plan_between_devices(transfer, device_id, out_plan);
    }
    if (!is_over_link(transfer)) {
        *out_plan = KernelCopyPlan{};
        return has_device(transfer) ? need_kernels(device_of_transfer(transfer), kWhat) : VIA_OK;
    }
    *out_plan = has_pageable(transfer) ? plan_pageable(transfer, purpose) : plan_pinned(transfer, caller, purpose);
    return VIA_OK;
}

bool is_better_staged(const Transfer &transfer) {
    if (is_pageable(transfer.src_side) && is_device(transfer.dst_side)) {
        return is_staged(Direction::ToDevice, transfer.nbytes, transfer.dst_side.device_id);
    }
    return is_device(transfer.src_side) && is_pageable(transfer.dst_side) &&
           is_staged(Direction::ToHost, transfer.nbytes, transfer.src_side.device_id, transfer.dst);
}

TransferPlan plan_adjacent(const Transfer &transfer, Purpose purpose) {
    if (devices_differ(transfer)) {
        return PeerPlan{};
    }
    return is_better_staged(transfer) && has_slots(transfer, purpose) ? TransferPlan(StagedPlan{})
                                                                      : TransferPlan(DriverPlan{});
}

}  // namespace

Status plan_transfer(const Transfer &transfer, Caller caller, Purpose purpose, int32_t device_id,
                     TransferPlan *out_plan) {
    count(Counter::PlannedRoutes, 1);
    if (transfer.ndim > 0) {
        return plan_strided(transfer, caller, purpose, device_id, out_plan);
    }
    *out_plan = plan_adjacent(transfer, purpose);
    return VIA_OK;
}

}  // namespace via::cuda
