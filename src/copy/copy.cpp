#include "copy/copy.hpp"

#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/normalise.hpp"
#include "copy/plan.hpp"
#include "copy/run.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/memory.hpp"
#include "core/async/task.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

// Copies adjacent bytes of memory that the driver may know. Checks its size first: too many bytes may overlap the
// memory next to it.
Status copy_bytes_of_any_kind(CopyPlan *plan, via_stream *stream) {
    const Plan &loops = plan->loops;
    plan->transfer = {loops.dst, loops.src, loops.run, {}, {}};
    VIA_TRY(cuda::find_raw_sides(&plan->transfer));
    VIA_TRY(check_mutual_overlap(loops));
    plan->on_host = is_for_host(loops, plan->transfer);
    if (stream != nullptr) {
        return copy_on(plan, stream);
    }
    if (!cuda::is_pageable(plan->transfer.dst_side) || !cuda::is_pageable(plan->transfer.src_side)) {
        return copy_now(plan);
    }
    run_copy(&plan->loops);
    return VIA_OK;
}

}  // namespace

bool needs_no_stream(via_array *dst, via_array *src, via_stream *stream) {
    return stream == nullptr && are_plain(dst, src);
}

Status check_arrays(via_array *dst, via_array *src) {
    VIA_TRY(check_same_type_and_shape(dst, src));
    return check_writable(dst);
}

Status prepare_loops(via_array *dst, via_array *src, Plan *out_plan) {
    VIA_TRY(normalise_copy(dst, src, out_plan));
    VIA_TRY(check_self_overlap(*out_plan));
    return check_mutual_overlap(*out_plan);
}

Status check_copy(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return VIA_OK;
    }
    CopyPlan plan;
    VIA_TRY(prepare_copy(dst, src, Ask::Never, &plan));
    return plan.transfer.ndim > 0 ? plan_for_text(&plan) : VIA_OK;
}

Status copy_array(via_array *dst, via_array *src) {
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return VIA_OK;
    }
    if (!are_plain(dst, src)) {
        CopyPlan plan;
        VIA_TRY(prepare_copy(dst, src, Ask::Large, &plan));
        return copy_now(&plan);
    }
    Plan plan;
    VIA_TRY(prepare_loops(dst, src, &plan));
    VIA_TRY(await_arrays(dst, src));
    run_copy(&plan);
    return VIA_OK;
}

Status copy_array_async(via_array *dst, via_array *src, via_stream *stream) {
    // The legacy stream is empty in a process that does not use CUDA.
    if (needs_no_stream(dst, src, stream) && !cuda::is_in_use()) {
        return copy_array(dst, src);
    }
    VIA_TRY(check_arrays(dst, src));
    if (dst->size == 0) {
        return cuda::need("a stream");
    }
    CopyPlan plan;
    VIA_TRY(prepare_copy(dst, src, Ask::Always, &plan));
    return copy_on(&plan, stream);
}

namespace {

// The work of a task: one copy, with a reference to both arrays.
struct CopyWork final : TaskWork {
    CopyWork(via_array *to, via_array *from) : src(retained(from)), dst(retained(to)) {}

    Status run(via_task *task, Fence **out_fence) override {
        return dst.get()->size == 0 ? VIA_OK : run_in_task(&plan, 0, task, out_fence);
    }

    const UniqueArray src;
    const UniqueArray dst;
    CopyPlan plan;  // unless there are no elements
};

}  // namespace

// Plans the copy before anything waits for it.
Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task) {
    UniqueWork<CopyWork> work;
    VIA_TRY(check_arrays(dst, src));
    VIA_TRY(check_task_memory(dst, src));
    VIA_TRY(make_object("a task", work.out(), dst, src));
    const bool is_empty = dst->size == 0;
    VIA_TRY(is_empty ? VIA_OK : plan_task_copy(dst, src, &work.get()->plan));
    UniqueFence dependency;
    VIA_TRY(dependency_of_copy(dst, src, stream, dependency.out()));
    const bool immediate = !is_empty && is_immediate(work.get()->plan);
    // Readers of dst wait for the task, and so does the release of either.
    const auto note = [&](Fence *end) { return set_last_copy(dst, {src}, end); };
    return submit_work(work.release(), dst->nbytes(), dependency.get(), immediate, note, out_task);
}

Status copy_bytes(void *dst, const void *src, int64_t nbytes, via_stream *stream) {
    if (nbytes < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "nbytes is %lld; expected 0 or more", static_cast<long long>(nbytes));
    }
    if (nbytes == 0) {
        return stream != nullptr ? cuda::need("a stream") : VIA_OK;
    }
    CopyPlan plan;
    normalise_bytes(dst, src, nbytes, &plan.loops);
    // Copies at once if nobody has started the driver: for few bytes that is as fast as asking it.
    if (stream == nullptr && !cuda::was_started()) [[likely]] {
        VIA_TRY(check_mutual_overlap(plan.loops));
        run_copy(&plan.loops);
        return VIA_OK;
    }
    return copy_bytes_of_any_kind(&plan, stream);
}

namespace {

Status find_memory(int32_t device_type, int32_t device_id, via_memory **out_memory) {
    switch (device_type) {
        case VIA_DEVICE_CPU:
            *out_memory = host_memory();
            return VIA_OK;
        case VIA_DEVICE_CUDA:
            return cuda::make_cuda_memory(VIA_MEMORY_DEVICE, device_id, out_memory);
        case VIA_DEVICE_CUDA_HOST:
            return cuda::make_cuda_memory(VIA_MEMORY_PINNED, device_id, out_memory);
        case VIA_DEVICE_CUDA_MANAGED:
            return cuda::make_cuda_memory(VIA_MEMORY_MANAGED, device_id, out_memory);
        default:
            return fail(
                VIA_ERROR_DEVICE,
                "the target's device_type is %s; expected VIA_DEVICE_CPU, VIA_DEVICE_CUDA, VIA_DEVICE_CUDA_HOST or "
                "VIA_DEVICE_CUDA_MANAGED",
                DeviceTypeName(device_type).text);
    }
}

Status make_like(via_array *src, int32_t device_type, int32_t device_id, via_array **out_array) {
    UniqueMemory memory;
    VIA_TRY(find_memory(device_type, device_id, memory.out()));
    return make_empty(memory.get(), src->dtype, src->ndim, src->shape(), src->flags & VIA_ARRAY_SUBBYTE_PADDED,
                      out_array);
}

Status copy_in_order(via_array *dst, via_array *src, via_stream *stream) {
    const bool waits = stream == nullptr || stream == cuda::no_sync_stream() ||
                       (dst->device_type == VIA_DEVICE_CPU && src->device_type == VIA_DEVICE_CPU);
    return waits ? copy_array(dst, src) : copy_array_async(dst, src, stream);
}

// Lets the host put the elements in order first.
Status copy_by_host(via_array *dst, via_array *src, via_stream *stream) {
    UniqueArray dense;
    VIA_TRY(make_like(src, VIA_DEVICE_CPU, 0, dense.out()));
    VIA_TRY(copy_in_order(dense.get(), src, stream));
    return copy_in_order(dst, dense.get(), stream);
}

// Returns whether the host must put the elements in order. Only kernels bring some strided layouts to a device, so they
// are loaded before planning.
bool needs_host(via_array *dst, via_array *src) {
    return dst->device_type == VIA_DEVICE_CUDA && src->device_type != VIA_DEVICE_CUDA &&
           !is_contiguous(src, VIA_ORDER_ROW_MAJOR) && !cuda::loads_kernels(dst->device_id);
}

}  // namespace

Status clone_to(via_array *src, int32_t device_type, int32_t device_id, via_stream *stream, via_array **out_array) {
    UniqueArray copy;
    VIA_TRY(make_like(src, device_type, device_id, copy.out()));
    VIA_TRY(needs_host(copy.get(), src) ? copy_by_host(copy.get(), src, stream)
                                        : copy_in_order(copy.get(), src, stream));
    *out_array = copy.release();
    return VIA_OK;
}

}  // namespace via
