#include "cuda/route/copy_route.hpp"

#include <atomic>

#include "core/system/address_probe.hpp"
#include "cuda/route/bounce_copy.hpp"
#include "cuda/staging/staging_threshold.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/launch/module.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/memory/stream_scratch.hpp"

namespace via::cuda {
namespace {

Side side_of(const PointerAttributes &attributes) {
    return attributes.known ? Side{attributes.device_type, attributes.device_id} : Side{VIA_DEVICE_CPU, 0};
}

Status find_side(const void *address, Side *side) {
    if (side->device_type == VIA_DEVICE_ANY) {
        PointerAttributes attributes{};
        VIA_TRY(query_pointer_kind(address, &attributes));
        *side = side_of(attributes);
    }
    return VIA_OK;
}

// Bytes from the address on that the driver says are memory of this kind and device, up to `nbytes`.
int64_t reach_of(const char *address, int64_t nbytes, PointerAttributes attributes) {
    const Side side = side_of(attributes);
    int64_t reach = 0;
    while (attributes.known && attributes.nbytes > 0) {
        reach = static_cast<const char *>(attributes.base) + attributes.nbytes - address;
        if (reach >= nbytes) {
            return nbytes;
        }
        attributes = find_pointer(address + reach);
        if (attributes.device_type != side.device_type || attributes.device_id != side.device_id) {
            return reach;
        }
    }
    return attributes.known ? nbytes : reach;
}

Status check_reach(const char *argument, const void *address, int64_t nbytes, const PointerAttributes &attributes) {
    const int64_t reach = attributes.known ? reach_of(static_cast<const char *>(address), nbytes, attributes) : nbytes;
    if (reach >= nbytes) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_POINTER, "%s is %p, from which its allocation has %lld bytes; expected nbytes, %lld",
                argument, address, static_cast<long long>(reach), static_cast<long long>(nbytes));
}

// A forked child asks no driver: what the host cannot read may well be a device's.
Status check_readable(const char *argument, const void *address, int64_t nbytes) {
    if (is_readable(address) && is_readable(static_cast<const char *>(address) + nbytes - 1)) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_FORKED, "%s is %p, no host memory, and CUDA was used before this process was forked",
                argument, address);
}

bool devices_differ(const Transfer &transfer) {
    return is_device(transfer.dst_side) && is_device(transfer.src_side) &&
           transfer.dst_side.device_id != transfer.src_side.device_id;
}

bool has_kernels(int32_t device_id) { return *why_no_kernels(device_id) == '\0'; }

// One side is a device's memory, the other one the host's.
bool is_over_link(const Transfer &transfer) {
    const Side &other = is_device(transfer.dst_side) ? transfer.src_side : transfer.dst_side;
    return has_device(transfer) && (is_pageable(other) || other.device_type == VIA_DEVICE_CUDA_HOST);
}

// The ring is too much for a little, unless that would take many calls.
CopyRoute choose_pageable_route(const Transfer &transfer) {
    constexpr int64_t kMostCalls = 16;
    const bool pays = transfer.nbytes >= kLeastStaged || count_bounce_calls(transfer) > kMostCalls;
    return pays ? CopyRoute::Staged : CopyRoute::Bounced;
}

// Without kernels copy engines are left, and the host, if it may: row by row they are asked up to a point.
bool is_too_much(const PinnedCopyPlan &plan, int32_t device_id) {
    constexpr int64_t kMostCalls = 1000;
    return plan.route == PinnedRoute::Rows && plan.calls > kMostCalls && !has_kernels(device_id);
}

CopyRoute choose_pinned_route(const Transfer &transfer, Caller caller) {
    const int32_t device_id = device_of_transfer(transfer);
    if (has_pageable(transfer)) {
        return choose_pageable_route(transfer);
    }
    const PinnedCopyPlan plan = find_pinned_plan(transfer, caller);
    if (plan.route == PinnedRoute::Kernel || (is_too_much(plan, device_id) && caller == Caller::GoesOn)) {
        return CopyRoute::Kernel;
    }
    return plan.route == PinnedRoute::Staged || is_too_much(plan, device_id) ? choose_pageable_route(transfer) : CopyRoute::Pinned;
}

CopyRoute choose_strided_route(const Transfer &transfer, Caller caller) {
    if (devices_differ(transfer)) {
        return CopyRoute::StridedPeer;
    }
    return is_over_link(transfer) ? choose_pinned_route(transfer, caller) : CopyRoute::Kernel;
}

}  // namespace

PinnedCopyPlan find_pinned_plan(const Transfer &transfer, Caller caller) {
    const int32_t device_id = device_of_transfer(transfer);
    PinnedCopyPlan plan;
    plan_pinned_copy(transfer, {has_kernels(device_id), has_scratch(device_id), caller == Caller::Waits && may_have_ring()},
              &plan);
    return plan;
}

Status find_sides(Transfer *transfer) {
    VIA_TRY(find_side(transfer->dst, &transfer->dst_side));
    return find_side(transfer->src, &transfer->src_side);
}

Status find_raw_sides(Transfer *transfer) {
    if (is_forked_child()) {
        transfer->dst_side = transfer->src_side = {VIA_DEVICE_CPU, 0};
        VIA_TRY(check_readable("dst", transfer->dst, transfer->nbytes));
        return check_readable("src", transfer->src, transfer->nbytes);
    }
    VIA_TRY(find_sides(transfer));
    // Host memory may go on where a registration ends.
    if (is_device(transfer->dst_side) || is_device(transfer->src_side)) {
        VIA_TRY(check_reach("dst", transfer->dst, transfer->nbytes, find_pointer(transfer->dst)));
        return check_reach("src", transfer->src, transfer->nbytes, find_pointer(transfer->src));
    }
    return VIA_OK;
}

bool uses_pageable_later(int32_t device_id) {
    static std::atomic<int32_t> known[kMostDevices];  // 0: not asked yet, 1: no, 2: yes
    int32_t answer = known[device_id].load(std::memory_order_relaxed);
    if (answer == 0) {
        int uses = 0;
        const CUresult result = driver().cuDeviceGetAttribute(
            &uses, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device_id);
        if (result != CUDA_SUCCESS) {
            return true;  // to wait for nothing is better than not to wait
        }
        answer = uses != 0 ? 2 : 1;
        known[device_id].store(answer, std::memory_order_relaxed);
    }
    return answer == 2;
}

int32_t device_of_transfer(const Transfer &transfer) {
    if (devices_differ(transfer)) {
        const int32_t current = device_of_thread();
        return current == transfer.src_side.device_id ? current : transfer.dst_side.device_id;
    }
    if (is_device(transfer.dst_side)) {
        return transfer.dst_side.device_id;
    }
    return is_device(transfer.src_side) ? transfer.src_side.device_id : device_of_thread();
}

Status check_strided(const Transfer &transfer) {
    constexpr char kWhat[] = "a strided copy on a device";
    VIA_TRY(need_driver(kWhat));
    if (devices_differ(transfer)) {
        const PeerPlan plan = plan_peer(transfer, device_of_transfer(transfer));
        VIA_TRY(plan.packs ? need_kernels(transfer.src_side.device_id, kWhat) : VIA_OK);
        return plan.unpacks ? need_kernels(transfer.dst_side.device_id, kWhat) : VIA_OK;
    }
    // Between a device and the host there is always a way.
    return is_over_link(transfer) ? VIA_OK : need_kernels(device_of_transfer(transfer), kWhat);
}

CopyRoute choose_copy_route(const Transfer &transfer, Caller caller) {
    if (transfer.ndim > 0) {
        return choose_strided_route(transfer, caller);
    }
    if (devices_differ(transfer)) {
        return CopyRoute::Peer;
    }
    if (is_pageable(transfer.src_side) && is_device(transfer.dst_side)) {
        return is_staged(Direction::ToDevice, transfer.nbytes, transfer.dst_side.device_id) ? CopyRoute::Staged : CopyRoute::Driver;
    }
    if (is_device(transfer.src_side) && is_pageable(transfer.dst_side)) {
        const bool staged = is_staged(Direction::ToHost, transfer.nbytes, transfer.src_side.device_id, transfer.dst);
        return staged ? CopyRoute::Staged : CopyRoute::Driver;
    }
    return CopyRoute::Driver;
}

CopyRoute route_without_ring(const Transfer &transfer) { return transfer.ndim > 0 ? CopyRoute::Bounced : CopyRoute::Driver; }

StagedCopy staged_copy(const Transfer &transfer, via_task *task) {
    StagedCopy copy{};
    const bool to_device = is_device(transfer.dst_side);
    copy.direction = to_device ? Direction::ToDevice : Direction::ToHost;
    copy.device = reinterpret_cast<CUdeviceptr>(to_device ? transfer.dst : transfer.src);
    copy.host = to_device ? const_cast<void *>(transfer.src) : transfer.dst;
    copy.nbytes = transfer.nbytes;
    copy.device_id = to_device ? transfer.dst_side.device_id : transfer.src_side.device_id;
    copy.task = task;
    if (transfer.ndim > 0) {
        copy.strided = &transfer;
        copy.plan = plan_staged(transfer, has_kernels(copy.device_id));
    }
    return copy;
}

}  // namespace via::cuda
