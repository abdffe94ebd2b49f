// Copies as tasks.
#include <iterator>
#include <new>

#include "copy/bits.hpp"
#include "copy/copy.hpp"
#include "copy/device_copy.hpp"
#include "copy/run.hpp"
#include "core/async/joined_fence.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/task.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

Ask ask_for(via_array *dst, via_array *src) { return is_plain(dst) && is_plain(src) ? Ask::Never : Ask::Always; }

// One copy, and its share in both arrays.
struct CopyWork : TaskWork {
    CopyWork(via_array *to, via_array *from) : TaskWork{run_work, end_work}, dst(to), src(from) {
        retain_array(dst);
        retain_array(src);
    }

    static Status run_work(TaskWork *work, via_task *task, Fence **out_fence) {
        auto *copy = static_cast<CopyWork *>(work);
        return copy_in_task(copy->dst, copy->src, 0, task, out_fence);
    }

    static void end_work(TaskWork *work) {
        auto *copy = static_cast<CopyWork *>(work);
        release_array(copy->dst);
        release_array(copy->src);
        delete copy;
    }

    via_array *dst;
    via_array *src;
};

// Readers of dst wait for the task, and so does the release of either.
Status mark_arrays(via_array *dst, via_array *src, via_task *task) {
    const UniqueFence fence(task_fence(task));
    VIA_TRY(set_last_write(dst->storage, fence.get()));
    return add_access(src->storage, fence.get());
}

int32_t device_of_copy(via_array *dst, via_array *src) {
    const cuda::Side dst_side{dst->device_type, dst->device_id};
    const cuda::Side src_side{src->device_type, src->device_id};
    return cuda::device_of_transfer({nullptr, nullptr, 0, dst_side, src_side, dst, src});
}

// Nothing was ever queued on a shared stream where there is no device, nor on the one that orders nothing.
bool orders_something(via_stream *stream) {
    if (stream == nullptr || stream == cuda::no_sync_stream()) {
        return false;
    }
    const bool is_shared = stream == cuda::legacy_stream() || stream == cuda::per_thread_stream();
    return !is_shared || cuda::device_count() > 0;
}

}  // namespace

Status check_task_copy(via_array *dst, via_array *src) {
    VIA_TRY(check_copy(dst, src));
    return is_plain(dst) && is_plain(src) ? VIA_OK : cuda::need("a copy of CUDA's memory");
}

Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency) {
    *out_dependency = nullptr;
    return orders_something(stream) ? cuda::stream_fence(stream, device_id, out_dependency) : VIA_OK;
}

Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency) {
    Fence *fences[] = {nullptr, last_write(dst->storage), last_write(src->storage)};
    if (const Status status = dependency_of_stream(stream, device_of_copy(dst, src), &fences[0]); status != VIA_OK) {
        const UniqueFence first(fences[1]);
        const UniqueFence second(fences[2]);
        return status;
    }
    return join_fences(fences, std::size(fences), out_dependency);
}

bool is_immediate_copy(via_array *dst, via_array *src) {
    if (dst->size == 0 || (is_plain(dst) && is_plain(src))) {
        return false;
    }
    Plan plan;
    cuda::Transfer transfer;
    return normalise_copy(dst, src, &plan) == VIA_OK &&
           make_transfer(plan, dst, src, ask_for(dst, src), &transfer) == VIA_OK && !passes_host(plan, transfer) &&
           cuda::is_immediate(transfer);
}

Status copy_in_task(via_array *dst, via_array *src, int64_t done_before, via_task *task, Fence **out_fence) {
    if (dst->size == 0) {
        return VIA_OK;
    }
    Plan plan;
    VIA_TRY(normalise_copy(dst, src, &plan));
    cuda::Transfer transfer;
    VIA_TRY(make_transfer(plan, dst, src, ask_for(dst, src), &transfer));
    VIA_TRY(check_devices(plan, transfer));
    if (passes_host(plan, transfer)) [[unlikely]] {
        return copy_bits_by_host(plan, transfer, task);
    }
    return is_for_host(plan, transfer) ? run_copy_in_pieces(plan, done_before, task)
                                       : cuda::transfer_for_task(transfer, task, out_fence);
}

Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task) {
    VIA_TRY(check_task_copy(dst, src));
    UniqueFence dependency;
    VIA_TRY(dependency_of_copy(dst, src, stream, dependency.out()));
    auto *work = new (std::nothrow) CopyWork(dst, src);
    if (work == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    via_task *task = nullptr;
    if (const Status status = start_task(work, dst->nbytes(), dependency.get(), is_immediate_copy(dst, src), &task);
        status != VIA_OK) {
        CopyWork::end_work(work);
        return status;
    }
    if (const Status status = mark_arrays(dst, src, task); status != VIA_OK) {
        cancel_task(task);
        release_task(task);
        return status;
    }
    *out_task = task;
    return VIA_OK;
}

}  // namespace via
