#include "cuda/transfer.hpp"

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/link_copy.hpp"
#include "cuda/route/peer_copy.hpp"
#include "cuda/route/transfer_order.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

struct Prepare {
    const Transfer &transfer;
    const ResolvedStream &stream;

    Status operator()(const DriverPlan &) const { return VIA_OK; }
    Status operator()(const PeerPlan &plan) const { return prepare_peer_copy(transfer, plan, stream); }
    Status operator()(const StagedPlan &) const { return VIA_OK; }
    Status operator()(const BouncePlan &plan) const {
        return plan.order.step == DeviceStep::Kernel ? prepare_kernel(transfer, stream) : VIA_OK;
    }
    Status operator()(const KernelCopyPlan &) const { return prepare_kernel(transfer, stream); }

    Status operator()(const LinkCopyPlan &plan) const {
        VIA_TRY(check_device_of_stream(transfer, stream));
        return plan.route == LinkRoute::Rows ? VIA_OK : prepare_kernel(transfer, stream);
    }
};

struct Enqueue {
    const Transfer &transfer;
    const ResolvedStream &stream;
    Caller caller;

    Status operator()(const DriverPlan &) const { return copy_by_driver(transfer, stream); }
    Status operator()(const PeerPlan &plan) const { return enqueue_peer_copy(transfer, plan, stream, caller); }

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

// Refuses what enqueue_plan would refuse, and loads kernels, before anything is touched.
// Errors: VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_UNSUPPORTED.
Status prepare_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    return std::visit(Prepare{transfer, stream}, plan);
}

// Queues the plan. Call with the stream's context entered. What the host has a part in is done on return, and copies
// between devices for a caller that waits.
Status enqueue_plan(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream,
                    Caller caller = Caller::GoesOn) {
    return std::visit(Enqueue{transfer, stream, caller}, plan);
}

Status enqueue(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    if (!has_pageable(transfer)) [[likely]] {
        return enqueue_plan(transfer, plan, stream);
    }
    const RelaxedCapture relaxed;
    return enqueue_plan(transfer, plan, stream);
}

// A few bytes of pinned memory travel within the command itself, and the driver notices their arrival at once.
bool is_brief(const Transfer &transfer) {
    constexpr int64_t kMostWithCommand = 8 << 10;
    constexpr int64_t kMostBrief = int64_t{1} << 20;
    const bool is_of_pinned = transfer.src_side.device_type == VIA_DEVICE_CUDA_HOST;
    return transfer.nbytes <= kMostBrief && (!is_of_pinned || transfer.nbytes >= kMostWithCommand);
}

// Returns whether the bytes are there once the plan has been enqueued: where the host has had the last part.
bool has_arrived(const Transfer &transfer, const TransferPlan &plan) {
    return is_pageable(transfer.dst_side) || (is_a<BouncePlan>(plan) && !is_to_device(transfer));
}

// The driver's synchronous copies may return before the bytes have arrived, unless the memory is pinned.
Status enqueue_and_wait(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    VIA_TRY(enqueue_plan(transfer, plan, stream, Caller::Waits));
    if (has_arrived(transfer, plan) || is_a<PeerPlan>(plan)) {
        return VIA_OK;
    }
    return is_brief(transfer) ? wait_briefly(stream)
                              : check_driver(wait_for_work(stream.handle), "cuStreamSynchronize");
}

// Waits on the host for arrays that the host touches itself.
Status wait_for_arrays_of(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    return is_a<BouncePlan>(plan) ? wait_for_arrays(transfer) : wait_for_arrays(transfer, stream);
}

// Waits for everything before it takes a slot.
Status run_staged_after_work(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &stream,
                             Fence **out_fence) {
    VIA_TRY(await_work(stream));
    VIA_TRY(wait_for_arrays(transfer));
    return run_staged({transfer, plan}, out_fence);
}

Status note_arrays(const Transfer &transfer, const ResolvedStream &stream) {
    return transfer.dst_array != nullptr ? note_copy(transfer.dst_array, transfer.src_array, stream) : VIA_OK;
}

Status staged_now(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &stream) {
    UniqueFence fence;
    VIA_TRY(run_staged_after_work(transfer, plan, stream, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

bool makes_wait(const ResolvedStream &stream, Fence *fence) {
    const CallbackScope quiet;  // reports no failure
    return fence->make_stream_wait(stream) == VIA_OK;
}

Status staged_on(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &stream) {
    UniqueFence fence;
    VIA_TRY(run_staged_after_work(transfer, plan, stream, fence.out()));
    if (fence.get() == nullptr) {
        return VIA_OK;
    }
    return makes_wait(stream, fence.get()) ? note_arrays(transfer, stream) : fence.get()->wait();
}

// Refuses pageable memory: the graph would read or write it at every launch, long after the call.
Status check_captured(const Transfer &transfer, const ResolvedStream &stream) {
    if (stream.capturing && has_pageable(transfer)) [[unlikely]] {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "%s is pageable memory, and stream is being captured; expected pinned, managed or device memory",
                    is_pageable(transfer.dst_side) ? "dst" : "src");
    }
    return VIA_OK;
}

Status capture(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    VIA_TRY(prepare_plan(transfer, plan, stream));
    VIA_TRY(wait_for_arrays_of(transfer, plan, stream));
    VIA_TRY(note_arrays(transfer, stream));
    ContextScope scope;
    VIA_TRY(enter_for(stream, &scope));
    return enqueue_plan(transfer, plan, stream);
}

Status give_to_stream(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &stream) {
    if (stream.capturing) [[unlikely]] {
        return capture(transfer, plan, stream);
    }
    if (const auto *staged = std::get_if<StagedPlan>(&plan); staged != nullptr) {
        return staged_on(transfer, *staged, stream);
    }
    VIA_TRY(wait_for_arrays_of(transfer, plan, stream));
    VIA_TRY(enqueue(transfer, plan, stream));
    return is_pageable(transfer.dst_side) ? VIA_OK : note_arrays(transfer, stream);
}

constexpr char kCopy[] = "a copy of CUDA's memory or on a stream";

// Uses one stream for each direction, so that tasks of different directions do not wait for each other.
int32_t own_number(const Transfer &transfer) {
    return is_device(transfer.dst_side) && !is_device(transfer.src_side) ? 0 : kTaskStream;
}

}  // namespace

Status transfer_now(const Transfer &transfer) {
    ResolvedStream stream;
    VIA_TRY(resolve_for(transfer, kCopy, nullptr, &stream));
    TransferPlan plan;
    VIA_TRY(plan_transfer(transfer, Caller::Waits, Purpose::Execute, stream.device_id, &plan));
    if (const auto *staged = std::get_if<StagedPlan>(&plan); staged != nullptr) {
        return staged_now(transfer, *staged, stream);
    }
    VIA_TRY(follow_other_device(transfer, stream));
    VIA_TRY(wait_for_arrays_of(transfer, plan, stream));
    return enqueue_and_wait(transfer, plan, stream);
}

Status plan_for_text(const Transfer &transfer, TransferPlan *out_plan) {
    return plan_transfer(transfer, Caller::Waits, Purpose::Describe, device_of_transfer(transfer), out_plan);
}

Status plan_on(const Transfer &transfer, via_stream *stream, TransferPlan *out_plan) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer, kCopy, stream, &resolved));
    VIA_TRY(check_captured(transfer, resolved));
    VIA_TRY(plan_transfer(transfer, Caller::GoesOn, Purpose::Execute, resolved.device_id, out_plan));
    return prepare_plan(transfer, *out_plan, resolved);
}

Status transfer_on(const Transfer &transfer, const TransferPlan &plan, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &resolved));
    return give_to_stream(transfer, plan, resolved);
}

Status transfer_on(const Transfer &transfer, via_stream *stream) {
    ResolvedStream resolved;
    VIA_TRY(resolve_for(transfer, kCopy, stream, &resolved));
    VIA_TRY(check_captured(transfer, resolved));
    TransferPlan plan;
    VIA_TRY(plan_transfer(transfer, Caller::GoesOn, Purpose::Execute, resolved.device_id, &plan));
    return give_to_stream(transfer, plan, resolved);
}

Status plan_for_task(const Transfer &transfer, TransferPlan *out_plan) {
    VIA_TRY(need_driver(kCopy));
    return plan_transfer(transfer, Caller::Waits, Purpose::Execute, device_of_transfer(transfer), out_plan);
}

bool is_immediate(const Transfer &transfer, const TransferPlan &plan) {
    return has_device(transfer) && !has_pageable(transfer) && !is_a<StagedPlan>(plan) && !is_a<BouncePlan>(plan);
}

Status transfer_for_task(const Transfer &transfer, const TransferPlan &plan, via_task *task, Fence **out_fence) {
    if (const auto *staged = std::get_if<StagedPlan>(&plan); staged != nullptr) {
        return run_staged({transfer, *staged, task}, out_fence);
    }
    ResolvedStream stream;
    VIA_TRY(internal_stream(device_of_transfer(transfer), own_number(transfer), &stream));
    const RelaxedCapture relaxed;
    VIA_TRY(enqueue(transfer, plan, stream));
    return has_arrived(transfer, plan) ? VIA_OK : record_or_wait(stream, out_fence);
}

Status stream_fence(via_stream *stream, int32_t device_id, Fence **out_fence) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, device_id, &resolved));
    if (resolved.capturing) {
        return fail(
            VIA_ERROR_STREAM_CAPTURE,
            "stream is being captured, and a task cannot wait for work that is captured; expected via_copy_async");
    }
    return is_idle(resolved) ? VIA_OK : record_fence(resolved, out_fence);
}

Status await_stream(via_stream *stream, bool *out_capturing) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, device_of_thread(), &resolved));
    *out_capturing = resolved.capturing;
    return resolved.capturing ? VIA_OK : await_work(resolved);
}

Status is_capturing(via_stream *stream, int32_t device_id, bool *out_capturing) {
    ResolvedStream resolved;
    VIA_TRY(resolve(stream, device_id, &resolved));
    *out_capturing = resolved.capturing;
    return VIA_OK;
}

}  // namespace via::cuda
