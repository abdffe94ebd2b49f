#include "cuda/transfer.hpp"

#include "cuda/route/brief_wait.hpp"
#include "cuda/route/driver_copy.hpp"
#include "cuda/route/enqueue_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/event_fence.hpp"
#include "cuda/stream/internal_stream.hpp"
#include "cuda/stream/stream_handles.hpp"
#include "cuda/stream_access.hpp"

namespace via::cuda {
namespace {

Status enqueue(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    if (!has_pageable(transfer)) [[likely]] {
        return enqueue_plan(transfer, plan, use);
    }
    const RelaxedCapture relaxed;
    return enqueue_plan(transfer, plan, use);
}

// A few bytes of page-locked memory travel with the command itself, and the driver sees them arrive as soon as anybody.
bool is_brief(const Transfer &transfer) {
    constexpr int64_t kMostWithCommand = 8 << 10;
    constexpr int64_t kMostBrief = int64_t{1} << 20;
    const bool is_of_pinned = transfer.src_side.device_type == VIA_DEVICE_CUDA_HOST;
    return transfer.nbytes <= kMostBrief && (!is_of_pinned || transfer.nbytes >= kMostWithCommand);
}

Status enqueue_and_wait(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    VIA_TRY(enqueue_plan(transfer, plan, use));
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
Status order_behind_arrays(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    if (is_a<BouncePlan>(plan)) {
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
Status run_staged_behind(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &use,
                         Fence **out_fence) {
    VIA_TRY(await_work(use));
    VIA_TRY(await_arrays(transfer));
    return run_staged(staged_copy(transfer, plan, nullptr), out_fence);
}

Status note_arrays(const Transfer &transfer, const ResolvedStream &use) {
    return transfer.dst_array != nullptr ? note_copy(transfer.dst_array, transfer.src_array, use) : VIA_OK;
}

Status staged_now(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &use) {
    UniqueFence fence;
    VIA_TRY(run_staged_behind(transfer, plan, use, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

Status staged_on(const Transfer &transfer, const StagedPlan &plan, const ResolvedStream &use) {
    UniqueFence fence;
    VIA_TRY(run_staged_behind(transfer, plan, use, fence.out()));
    if (fence.get() == nullptr) {
        return VIA_OK;
    }
    if (fence.get()->make_stream_wait(use) != VIA_OK) {
        return fence.get()->wait();
    }
    return note_arrays(transfer, use);
}

// A captured copy of pageable memory would read or write it at every launch of the graph, long after the call.
Status check_captured(const Transfer &transfer, const ResolvedStream &use) {
    if (use.capturing && has_pageable(transfer)) [[unlikely]] {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "%s is pageable memory, and stream is being captured; expected pinned, managed or device memory",
                    is_pageable(transfer.dst_side) ? "dst" : "src");
    }
    return VIA_OK;
}

Status capture(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    VIA_TRY(prepare_plan(transfer, plan, use));
    VIA_TRY(order_behind_arrays(transfer, plan, use));
    VIA_TRY(note_arrays(transfer, use));
    ContextScope scope;
    VIA_TRY(enter_for(use, &scope));
    return enqueue_plan(transfer, plan, use);
}

Status give_to_stream(const Transfer &transfer, const TransferPlan &plan, const ResolvedStream &use) {
    if (use.capturing) [[unlikely]] {
        return capture(transfer, plan, use);
    }
    if (const auto *staged = std::get_if<StagedPlan>(&plan); staged != nullptr) {
        return staged_on(transfer, *staged, use);
    }
    VIA_TRY(order_behind_arrays(transfer, plan, use));
    VIA_TRY(enqueue(transfer, plan, use));
    return is_pageable(transfer.dst_side) ? VIA_OK : note_arrays(transfer, use);
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
    TransferPlan plan;
    VIA_TRY(plan_transfer(transfer, Caller::Waits, Purpose::Execute, use.device_id, &plan));
    if (const auto *staged = std::get_if<StagedPlan>(&plan); staged != nullptr) {
        return staged_now(transfer, *staged, use);
    }
    if (devices_differ(transfer)) {
        VIA_TRY(order_behind_other_device(transfer, use));
    }
    VIA_TRY(order_behind_arrays(transfer, plan, use));
    return enqueue_and_wait(transfer, plan, use);
}

Status plan_for_text(const Transfer &transfer, TransferPlan *out_plan) {
    return plan_transfer(transfer, Caller::Waits, Purpose::Describe, device_of_transfer(transfer), out_plan);
}

Status plan_on(const Transfer &transfer, via_stream *stream, TransferPlan *out_plan) {
    VIA_TRY(need_driver(kCopy));
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &use));
    VIA_TRY(check_captured(transfer, use));
    VIA_TRY(plan_transfer(transfer, Caller::GoesOn, Purpose::Execute, use.device_id, out_plan));
    return prepare_plan(transfer, *out_plan, use);
}

Status transfer_on(const Transfer &transfer, const TransferPlan &plan, via_stream *stream) {
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &use));
    return give_to_stream(transfer, plan, use);
}

Status transfer_on(const Transfer &transfer, via_stream *stream) {
    VIA_TRY(need_driver(kCopy));
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_of_transfer(transfer), &use));
    VIA_TRY(check_captured(transfer, use));
    TransferPlan plan;
    VIA_TRY(plan_transfer(transfer, Caller::GoesOn, Purpose::Execute, use.device_id, &plan));
    return give_to_stream(transfer, plan, use);
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
        return run_staged(staged_copy(transfer, *staged, task), out_fence);
    }
    ResolvedStream use;
    VIA_TRY(internal_stream(device_of_transfer(transfer), own_number(transfer), &use));
    const RelaxedCapture relaxed;
    VIA_TRY(enqueue(transfer, plan, use));
    if (is_pageable(transfer.dst_side)) {
        return VIA_OK;
    }
    // Where no fence can be recorded it must have ended before anybody goes on.
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

Status is_capturing(via_stream *stream, int32_t device_id, bool *out_capturing) {
    ResolvedStream use;
    VIA_TRY(resolve(stream, device_id, &use));
    *out_capturing = use.capturing;
    return VIA_OK;
}

}  // namespace via::cuda
