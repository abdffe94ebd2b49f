// Copies as tasks.
#include <iterator>

#include "copy/bits.hpp"
#include "copy/copy.hpp"
#include "copy/copy_plan.hpp"
#include "copy/run.hpp"
#include "copy/submit.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

Ask ask_for(via_array *dst, via_array *src) { return are_plain(dst, src) ? Ask::Never : Ask::Always; }

// The work of a task: one copy, with a reference to both arrays.
struct CopyWork final : TaskWork {
    CopyWork(via_array *to, via_array *from) : src(from), dst(to) {
        retain_array(to);
        retain_array(from);
    }

    Status run(via_task *task, Fence **out_fence) override {
        return dst.get()->size == 0 ? VIA_OK : run_in_task(&plan, 0, task, out_fence);
    }

    const UniqueArray src;
    const UniqueArray dst;
    CopyPlan plan;  // unless there are no elements
};

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

Status check_task_memory(via_array *dst, via_array *src, via_array *dst_index, via_array *src_index) {
    return are_plain(dst, src, dst_index, src_index) ? VIA_OK : cuda::need("a copy of CUDA's memory");
}

Status check_task_copy(via_array *dst, via_array *src) {
    VIA_TRY(check_copy(dst, src));
    return check_task_memory(dst, src);
}

Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency) {
    *out_dependency = nullptr;
    return orders_something(stream) ? cuda::stream_fence(stream, device_id, out_dependency) : VIA_OK;
}

Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency,
                          via_array *dst_index, via_array *src_index) {
    UniqueFence before;
    VIA_TRY(dependency_of_stream(stream, device_of_copy(dst, src), before.out()));
    Fence *fences[] = {before.release(), last_write(dst->storage), last_write(src->storage),
                       dst_index != nullptr ? last_write(dst_index->storage) : nullptr,
                       src_index != nullptr ? last_write(src_index->storage) : nullptr};
    return join_fences(fences, std::size(fences), out_dependency);
}

Status plan_task_copy(via_array *dst, via_array *src, CopyPlan *out_plan) {
    VIA_TRY(prepare_copy(dst, src, ask_for(dst, src), out_plan));
    return plan_for_task(out_plan);
}

bool is_immediate(const CopyPlan &plan) {
    return !plan.on_host && !plan.through_host && cuda::is_immediate(plan.transfer, plan.device);
}

Status run_in_task(CopyPlan *plan, int64_t done_before, via_task *task, Fence **out_fence) {
    if (plan->through_host) [[unlikely]] {
        return copy_bits_by_host(plan->loops, plan->transfer, task);
    }
    return plan->on_host ? run_copy_in_pieces(&plan->loops, done_before, task)
                         : cuda::transfer_for_task(plan->transfer, plan->device, task, out_fence);
}

namespace {

// Plans the copy before anything waits for it.
Status make_work(via_array *dst, via_array *src, CopyWork **out_work) {
    VIA_TRY(check_arrays(dst, src));
    VIA_TRY(check_task_memory(dst, src));
    VIA_TRY(make_object("a task", out_work, dst, src));
    return dst->size == 0 ? VIA_OK : plan_task_copy(dst, src, &(*out_work)->plan);
}

}  // namespace

Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task) {
    UniqueWork<CopyWork> work;
    VIA_TRY(make_work(dst, src, work.out()));
    UniqueFence dependency;
    VIA_TRY(dependency_of_copy(dst, src, stream, dependency.out()));
    const bool immediate = dst->size != 0 && is_immediate(work.get()->plan);
    // Readers of dst wait for the task, and so does the release of either.
    const auto note = [&](Fence *end) { return set_last_copy(dst, {src}, end); };
    return submit_work(work.release(), dst->nbytes(), dependency.get(), immediate, note, out_task);
}

Status copy_and_wait(via_array *dst, via_array *src) {
    CopyPlan plan;
    VIA_TRY(plan_task_copy(dst, src, &plan));
    UniqueFence fence;
    VIA_TRY(run_in_task(&plan, 0, nullptr, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

}  // namespace via
