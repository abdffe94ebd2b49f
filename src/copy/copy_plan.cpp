#include "copy/copy_plan.hpp"

#include <algorithm>

#include "copy/bits.hpp"
#include "copy/choose_tiles.hpp"
#include "copy/copy.hpp"
#include "copy/normalise.hpp"
#include "copy/run.hpp"
#include "core/array/access_tracker.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"
#include "cuda/transfer_plan.hpp"

namespace via {
namespace {

// Smaller copies of registered memory that are waited for are treated as pageable.
constexpr int64_t kLargeBytes = int64_t{64} << 10;

cuda::Side side_of(via_array *array, Ask ask, int64_t nbytes) {
    const bool asked = ask == Ask::Always || (ask == Ask::Large && nbytes > kLargeBytes);
    return {is_plain(array) && asked ? VIA_DEVICE_ANY : array->device_type, array->device_id};
}

bool is_of(const cuda::Transfer &transfer, int32_t device_type) {
    return transfer.dst_side.device_type == device_type || transfer.src_side.device_type == device_type;
}

bool may_be_pending(via_array *array) { return array != nullptr && array->storage->may_be_pending(); }

// Copies on the host once both arrays are ready.
Status run_on_host(CopyPlan *plan) {
    VIA_TRY(await_arrays(plan->transfer.dst_array, plan->transfer.src_array));
    run_copy(&plan->loops);
    return VIA_OK;
}

// Copies one part, for copies that pass through the host's memory.
void copy_part(const cuda::Move &move, bool helped) {
    Plan plan;
    normalise_bytes(move.dst, move.src, move.run, &plan);
    plan.nbytes = move.nbytes;
    plan.ndim = move.ndim;
    std::copy_n(move.axes, move.ndim, plan.axes);
    if (helped) {
        choose_tiles(&plan);
    } else {
        choose_tiles(&plan, 1);
    }
    run_plan(plan);
}

constexpr char kHostCopy[] = "a copy by the host";

// Refuses pageable memory: the graph would read or write it at every launch, long after the call.
Status check_captured(const CopyPlan &plan) {
    if (is_of(plan.transfer, VIA_DEVICE_CPU)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "%s is pageable memory, and stream is being captured; expected pinned, managed or device memory",
                    plan.transfer.dst_side.device_type == VIA_DEVICE_CPU ? "dst" : "src");
    }
    if (!is_adjacent(plan.loops) && (plan.on_host || plan.through_host)) {
        return fail(VIA_ERROR_STREAM_CAPTURE,
                    "stream is being captured, and the host would copy strided elements; expected contiguous arrays");
    }
    return VIA_OK;
}

// Copies after the stream's work, or that of the legacy streams of both devices, when both arrays are ready.
Status copy_bits_in_order(const CopyPlan &plan, via_stream *stream) {
    const cuda::Transfer &transfer = plan.transfer;
    bool capturing = false;
    VIA_TRY(cuda::is_capturing(stream, cuda::device_of_transfer(transfer), &capturing));
    VIA_TRY(capturing ? check_captured(plan) : VIA_OK);
    for (via_array *array : {transfer.dst_array, transfer.src_array}) {
        if (array->device_type == VIA_DEVICE_CUDA) {
            UniqueFence before;
            VIA_TRY(dependency_of_stream(stream != nullptr ? stream : cuda::legacy_stream(), array->device_id,
                                         before.out()));
            VIA_TRY(before.get() != nullptr ? before.get()->wait() : VIA_OK);
        }
    }
    VIA_TRY(await_arrays(transfer.dst_array, transfer.src_array));
    return copy_bits_by_host(plan.loops, transfer, nullptr);
}

}  // namespace

Status make_transfer(const Plan &loops, via_array *dst, via_array *src, Ask ask, cuda::Transfer *out_transfer) {
    // Asks the driver about all strided memory: whether a device reaches it decides the route.
    const bool strided = loops.ndim > 0 && !are_plain(dst, src);
    const Ask asked = strided ? Ask::Always : ask;
    const int32_t ndim = loops.in_bits ? 0 : loops.ndim;  // which are for whole bytes
    *out_transfer = {loops.dst,
                     loops.src,
                     loops.ndim > 0 || loops.in_bits ? loops.nbytes : loops.run,
                     side_of(dst, asked, loops.nbytes),
                     side_of(src, asked, loops.nbytes),
                     dst,
                     src,
                     loops.run,
                     ndim,
                     loops.axes,
                     copy_part};
    return cuda::find_sides(out_transfer);
}

bool is_for_host(const Plan &loops, const cuda::Transfer &transfer) {
    return !is_of(transfer, VIA_DEVICE_CUDA) && !(is_adjacent(loops) && is_of(transfer, VIA_DEVICE_CUDA_MANAGED));
}

Status prepare_copy(via_array *dst, via_array *src, Ask ask, CopyPlan *out_plan) {
    VIA_TRY(prepare_loops(dst, src, &out_plan->loops));
    VIA_TRY(make_transfer(out_plan->loops, dst, src, ask, &out_plan->transfer));
    out_plan->on_host = is_for_host(out_plan->loops, out_plan->transfer);
    out_plan->through_host = takes_parts_of_bytes(out_plan->loops) && is_of(out_plan->transfer, VIA_DEVICE_CUDA);
    return VIA_OK;
}

Status await_arrays(via_array *dst, via_array *src) {
    VIA_TRY(may_be_pending(dst) ? wait_for_last_write(dst->storage) : VIA_OK);
    return may_be_pending(src) ? wait_for_last_write(src->storage) : VIA_OK;
}

Status await_stream(via_stream *stream, const char *what) {
    bool capturing = false;
    VIA_TRY(cuda::await_stream(stream, &capturing));
    return capturing ? fail(VIA_ERROR_STREAM_CAPTURE,
                            "stream is being captured, and %s cannot be; expected a stream that is not", what)
                     : VIA_OK;
}

Status copy_now(CopyPlan *plan) {
    if (plan->through_host) [[unlikely]] {
        return copy_bits_in_order(*plan, nullptr);
    }
    if (!plan->on_host) {
        return cuda::transfer_now(plan->transfer);
    }
    VIA_TRY(await_stream(nullptr, kHostCopy));
    return run_on_host(plan);
}

Status copy_on(CopyPlan *plan, via_stream *stream) {
    if (plan->through_host) [[unlikely]] {
        return copy_bits_in_order(*plan, stream);
    }
    if (!plan->on_host) {
        return cuda::transfer_on(plan->transfer, stream);
    }
    bool capturing = false;
    VIA_TRY(cuda::await_stream(stream, &capturing));
    if (!capturing) {
        return run_on_host(plan);
    }
    VIA_TRY(check_captured(*plan));
    return cuda::transfer_on(plan->transfer, stream);  // adjacent pinned memory
}

Status plan_on(CopyPlan *plan, via_stream *stream) {
    if (!plan->on_host && !plan->through_host) {
        return cuda::plan_on(plan->transfer, stream, &plan->device);
    }
    bool capturing = false;
    VIA_TRY(cuda::is_capturing(stream, cuda::device_of_transfer(plan->transfer), &capturing));
    return capturing ? check_captured(*plan) : VIA_OK;
}

Status run_on(CopyPlan *plan, via_stream *stream) {
    return plan->on_host || plan->through_host ? copy_on(plan, stream)
                                               : cuda::transfer_on(plan->transfer, plan->device, stream);
}

Status plan_for_text(CopyPlan *plan) {
    return plan->on_host || plan->through_host ? VIA_OK : cuda::plan_for_text(plan->transfer, &plan->device);
}

Status check_task_memory(via_array *dst, via_array *src, via_array *dst_index, via_array *src_index) {
    return are_plain(dst, src, dst_index, src_index) ? VIA_OK : cuda::need("a copy of CUDA's memory");
}

Status plan_task_copy(via_array *dst, via_array *src, CopyPlan *out_plan) {
    VIA_TRY(prepare_copy(dst, src, are_plain(dst, src) ? Ask::Never : Ask::Always, out_plan));
    return out_plan->on_host || out_plan->through_host ? VIA_OK
                                                       : cuda::plan_for_task(out_plan->transfer, &out_plan->device);
}

Status run_in_task(CopyPlan *plan, int64_t done_before, via_task *task, Fence **out_fence) {
    if (plan->through_host) [[unlikely]] {
        return copy_bits_by_host(plan->loops, plan->transfer, task);
    }
    return plan->on_host ? run_copy_in_pieces(&plan->loops, done_before, task)
                         : cuda::transfer_for_task(plan->transfer, plan->device, task, out_fence);
}

bool is_immediate(const CopyPlan &plan) {
    return !plan.on_host && !plan.through_host && cuda::is_immediate(plan.transfer, plan.device);
}

Status copy_and_wait(via_array *dst, via_array *src) {
    CopyPlan plan;
    VIA_TRY(plan_task_copy(dst, src, &plan));
    UniqueFence fence;
    VIA_TRY(run_in_task(&plan, 0, nullptr, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

// Nothing was ever queued on a shared stream where there is no device, nor on the one that orders nothing.
Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency) {
    const bool is_shared = stream == cuda::legacy_stream() || stream == cuda::per_thread_stream();
    const bool orders_nothing =
        stream == nullptr || stream == cuda::no_sync_stream() || (is_shared && cuda::device_count() == 0);
    *out_dependency = nullptr;
    return orders_nothing ? VIA_OK : cuda::stream_fence(stream, device_id, out_dependency);
}

Status dependency_of_arrays(via_stream *stream, int32_t device_id, std::initializer_list<via_array *> arrays,
                            Fence **out_dependency) {
    Fence *fences[5] = {};  // of the stream, and of at most two arrays with their lists of row numbers
    VIA_TRY(dependency_of_stream(stream, device_id, &fences[0]));
    int32_t count = 1;
    for (via_array *array : arrays) {
        fences[count++] = array != nullptr ? last_write(array->storage) : nullptr;
    }
    return join_fences(fences, count, out_dependency);
}

Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency,
                          via_array *dst_index, via_array *src_index) {
    const cuda::Side dst_side{dst->device_type, dst->device_id};
    const cuda::Side src_side{src->device_type, src->device_id};
    const int32_t device_id = cuda::device_of_transfer({nullptr, nullptr, 0, dst_side, src_side, dst, src});
    return dependency_of_arrays(stream, device_id, {dst, src, dst_index, src_index}, out_dependency);
}

}  // namespace via
