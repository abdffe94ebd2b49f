#include "cuda/transfer.hpp"

#include "cuda/route/brief_wait.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"
#include "cuda/route/strided_route.hpp"

namespace via::cuda {
namespace {

Status enqueue_entered(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    return is_strided(route) ? enqueue_strided(transfer, route, use) : copy_by_driver(transfer, route, use);
}

Status enqueue(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    if (!has_pageable(transfer)) [[likely]] {
        return enqueue_entered(transfer, route, use);
    }
    const RelaxedCapture relaxed;
    return enqueue_entered(transfer, route, use);
}

// A few bytes of page-locked memory travel with the command itself, and the driver sees them arrive as soon as anybody.
bool is_brief(const Transfer &transfer) {
    constexpr int64_t kMostWithCommand = 8 << 10;
    constexpr int64_t kMostBrief = int64_t{1} << 20;
    const bool is_of_pinned = transfer.src_side.device_type == VIA_DEVICE_CUDA_HOST;
    return transfer.nbytes <= kMostBrief && (!is_of_pinned || transfer.nbytes >= kMostWithCommand);
}

Status enqueue_and_wait(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    VIA_TRY(enqueue_entered(transfer, route, use));
    // What the driver calls a synchronous copy may return before the bytes have arrived, but for page-locked memory.
    if (is_pageable(transfer.dst_side)) {
        return VIA_OK;
    }
    return is_brief(transfer) ? wait_briefly(use) : check_driver(wait_for_work(use.handle), "cuStreamSynchronize");
}

Status await_arrays(const Transfer &transfer) {
    if (transfer.dst_array != nullptr) {
        VIA_TRY(via::wait_until_ready(transfer.dst_array->storage));
        return via::wait_until_ready(transfer.src_array->storage);
    }
    return VIA_OK;
}

// What the host touches itself must be ready for it.
Status order_behind_arrays(const Transfer &transfer, CopyRoute route, const ResolvedStream &use) {
    if (route == CopyRoute::Bounced) {
        return await_arrays(transfer);
    }
    if (transfer.dst_array != nullptr) {
        VIA_TRY(wait_until_ready(transfer.dst_array, use));
        return wait_until_ready(transfer.src_array, use);
    }
    return VIA_OK;
}

// Of two devices, the other one's legacy stream comes first too.
Status order_behind_other_device(const Transfer &transfer, const ResolvedStream &use) {
    const int32_t dst = transfer.dst_side.device_id;
    ResolvedStream other;
    VIA_TRY(resolve(nullptr, use.device_id == dst ? transfer.src_side.device_id : dst, &other));
    if (is_idle(other)) {
        return VIA_OK;
    }
    UniqueFence fence;
    VIA_TRY(record_fence(other, fence.out()));
    return fence.get()->make_stream_wait(use);
}

// Slots are taken only once nothing is left to wait for.
Status run_staged_behind(const Transfer &transfer, const ResolvedStream &use, Fence **out_fence) {
    VIA_TRY(await_work(use));
    VIA_TRY(await_arrays(transfer));
    return run_staged(staged_copy(transfer, nullptr), out_fence);
}

Status note_arrays(const Transfer &transfer, const ResolvedStream &use) {
    return transfer.dst_array != nullptr ? note_copy(transfer.dst_array, transfer.src_array, use) : VIA_OK;
}

Status staged_now(const Transfer &transfer, const ResolvedStream &use) {
    UniqueFence fence;
    VIA_TRY(run_staged_behind(transfer, use, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

Status staged_on(const Transfer &transfer, const ResolvedStream &use) {
    UniqueFence fence;
    VIA_TRY(run_staged_behind(transfer, use, fence.out()));
    if (fence.get() == nullptr) {
        return VIA_OK;
    }
    if (fence.get()->make_stream_wait(use) != VIA_OK) {
        return fence.get()->wait();
    }
    return note_arrays(transfer, use);
}

// A captured copy of pageable memory would read or write it at every launch of the graph, long after the call.
Status capture(const Transfer &transfer, const ResolvedStream &use) {
    if (has_pageable(transfer)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "%s is pageable memory, and stream is being captured; expected pinned, managed or device memory",
                    is_pageable(transfer.dst_side) ? "dst" : "src");
    }
    const CopyRoute route = choose_copy_route(transfer, Caller::GoesOn);
    if (is_strided(route)) {
        VIA_TRY(prepare_strided(transfer, route, use));
    }
    VIA_TRY(order_behind_arrays(transfer, route, use));
    VIA_TRY(note_arrays(transfer, use));
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    return is_strided(route) ? enqueue_strided(transfer, route, use) : capture_driver_copy(transfer, route, use);
}

// The ring is made for the first copy that is better off with it; where it cannot be had, the driver serves.
CopyRoute find_copy_route(const Transfer &transfer, Caller caller) {
    const CopyRoute route = choose_copy_route(transfer, caller);
    const bool has_slots = route != CopyRoute::Staged || has_ring(transfer.nbytes, device_of_transfer(transfer));
    return has_slots ? route : route_without_ring(transfer);
}

constexpr char kCopy[] = "a copy of CUDA's memory or on a stream";

// Tasks of different directions do not wait for one another.
int32_t own_number(const Transfer &transfer) {
    return is_device(transfer.dst_side) && !is_device(transfer.src_side) ? 0 : 1;
}

}  // namespace

Status transfer_now(const Transfer &transfer) {
    VIA_TRY(need_driver(kCopy));
    ResolvedStream use;
    VIA_TRY(resolve(nullptr, device_of_transfer(transfer), &use));
    const CopyRoute route = find_copy_route(transfer, Caller::Waits);
    if (route == CopyRoute::Staged) {
        return staged_now(transfer, use);
    }
    if (route == CopyRoute::Peer || route == CopyRoute::StridedPeer) {
        VIA_TRY(order_behind_other_device(transfer, use));
    }
    VIA_TRY(order_behind_arrays(transfer, route, use));
    return enqueue_and_wait(transfer, route, use);
}

Status transfer_on(const Transfer &transfer, via_stream *stream) {
    VIA_TRY(need_driver(kCopy));
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &use));
    if (use.capturing) [[unlikely]] {
        return capture(transfer, use);
    }
    const CopyRoute route = find_copy_route(transfer, Caller::GoesOn);
    if (route == CopyRoute::Staged) {
        return staged_on(transfer, use);
    }
    VIA_TRY(order_behind_arrays(transfer, route, use));
    VIA_TRY(enqueue(transfer, route, use));
    return is_pageable(transfer.dst_side) ? VIA_OK : note_arrays(transfer, use);
}

bool is_immediate(const Transfer &transfer) {
    if (!has_device(transfer) || has_pageable(transfer)) {
        return false;
    }
    const CopyRoute route = choose_copy_route(transfer, Caller::Waits);
    return route != CopyRoute::Staged && route != CopyRoute::Bounced;
}

Status transfer_for_task(const Transfer &transfer, via_task *task, Fence **out_fence) {
    VIA_TRY(need_driver(kCopy));
    const CopyRoute route = find_copy_route(transfer, Caller::Waits);
    if (route == CopyRoute::Staged) {
        return run_staged(staged_copy(transfer, task), out_fence);
    }
    ResolvedStream use;
    VIA_TRY(internal_stream(device_of_transfer(transfer), own_number(transfer), &use));
    const RelaxedCapture relaxed;
    VIA_TRY(enqueue(transfer, route, use));
    if (is_pageable(transfer.dst_side)) {
        return VIA_OK;
    }
    // Where it cannot be marked it must have ended before anybody goes on.
    return record_fence(use, out_fence) == VIA_OK ? VIA_OK : wait_for_stream(use);
}

Status stream_fence(via_stream *stream, int32_t device_id, Fence **out_fence) {
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_id, &use));
    if (use.capturing) {
        return fail(
            VIA_ERROR_STREAM_CAPTURE,
            "stream is being captured, and a task cannot wait for work that is captured; expected via_copy_async");
    }
    return is_idle(use) ? VIA_OK : record_fence(use, out_fence);
}

Status await_stream(via_stream *stream, bool *out_capturing) {
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_thread(), &use));
    *out_capturing = use.capturing;
    return use.capturing ? VIA_OK : await_work(use);
}

Status find_capture(const Transfer &transfer, via_stream *stream, bool *out_capturing) {
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &use));
    *out_capturing = use.capturing;
    if (transfer.ndim == 0 || !has_device(transfer)) {
        return VIA_OK;
    }
    return prepare_strided(transfer, choose_copy_route(transfer, Caller::GoesOn), use);
}

}  // namespace via::cuda
