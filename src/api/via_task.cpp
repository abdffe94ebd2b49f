#include "api/guard.hpp"
#include "copy/batch.hpp"
#include "copy/convert.hpp"
#include "copy/indexed.hpp"
#include "core/async/task.hpp"
#include "cuda/stream_access.hpp"

using namespace via;

void via_task_retain(via_task *task) {
    VIA_TRACE_API(via_task_retain, task);
    unless_null(task, retain_task);
}

void via_task_release(via_task *task) {
    VIA_TRACE_API(via_task_release, task);
    unless_null(task, release_task);
}

via_status via_task_wait(via_task *task) {
    VIA_TRACE_API(via_task_wait, task);
    return guarded(__func__, required("task", task), [&] { return wait_for_task(task); });
}

via_status via_task_poll(via_task *task, int32_t *out_done) {
    VIA_TRACE_API(via_task_poll, task, out_done);
    return guarded(__func__, output("out_done", out_done), required("task", task), [&]() -> Status {
        *out_done = task_ended(task) ? 1 : 0;
        return VIA_OK;
    });
}

via_status via_task_progress(via_task *task, int64_t *out_done, int64_t *out_total) {
    VIA_TRACE_API(via_task_progress, task, out_done, out_total);
    return guarded(__func__, output("out_done", out_done), output("out_total", out_total), required("task", task),
                   [&]() -> Status {
                       task_progress(task, out_done, out_total);
                       return VIA_OK;
                   });
}

via_status via_task_cancel(via_task *task) {
    VIA_TRACE_API(via_task_cancel, task);
    return guarded(__func__, required("task", task), [&]() -> Status {
        cancel_task(task);
        return VIA_OK;
    });
}

via_status via_task_join(via_task *task, via_stream *stream) {
    VIA_TRACE_API(via_task_join, task, stream);
    return guarded(__func__, required("task", task), [&]() -> Status {
        const UniqueFence fence(task_fence(task));
        VIA_TRY(cuda::join(stream, fence.get()));
        return task_failure(task);
    });
}

via_status via_task_on_complete(via_task *task, via_complete_fn complete, void *context) {
    VIA_TRACE_API(via_task_on_complete, task, complete, context);
    return guarded(__func__, required("task", task), required("complete", reinterpret_cast<void *>(complete)),
                   [&] { return on_task_complete(task, complete, context); });
}

via_status via_batch_create(via_batch **out_batch) {
    VIA_TRACE_API(via_batch_create, out_batch);
    return guarded(__func__, output("out_batch", out_batch), [&] { return make_batch(out_batch); });
}

void via_batch_retain(via_batch *batch) {
    VIA_TRACE_API(via_batch_retain, batch);
    unless_null(batch, retain_batch);
}

void via_batch_release(via_batch *batch) {
    VIA_TRACE_API(via_batch_release, batch);
    unless_null(batch, release_batch);
}

via_status via_batch_add(via_batch *batch, via_array *dst, via_array *src) {
    VIA_TRACE_API(via_batch_add, batch, dst, src);
    return guarded(__func__, required("batch", batch), required("dst", dst), required("src", src),
                   [&] { return add_to_batch(batch, dst, src); });
}

via_status via_batch_add_indexed(via_batch *batch, via_array *dst, via_array *dst_index, via_array *src,
                                 via_array *src_index, int32_t axis, const via_convert_options *options) {
    VIA_TRACE_API(via_batch_add_indexed, batch, dst, dst_index, src, src_index, axis, options);
    via_convert_options complete{};
    return guarded(
        __func__, required("batch", batch), required("dst", dst), required("src", src), options_of(options, &complete),
        [&]() -> Status {
            UniquePlannedCopy copy;
            VIA_TRY(plan_indexed({dst, dst_index, src, src_index, axis, options != nullptr ? &complete : nullptr},
                                 copy.out()));
            return add_planned_to_batch(batch, copy.get());
        });
}

via_status via_batch_add_convert(via_batch *batch, via_array *dst, via_array *src, const via_convert_options *options) {
    VIA_TRACE_API(via_batch_add_convert, batch, dst, src, options);
    via_convert_options complete{};
    return guarded(__func__, required("batch", batch), required("dst", dst), required("src", src),
                   options_of(options, &complete), [&]() -> Status {
                       UniquePlannedCopy copy;
                       VIA_TRY(plan_convert(dst, src, complete, copy.out()));
                       return copy.get() != nullptr ? add_planned_to_batch(batch, copy.get())
                                                    : add_to_batch(batch, dst, src);
                   });
}

int64_t via_batch_size(via_batch *batch) {
    VIA_TRACE_API(via_batch_size, batch);
    return batch != nullptr ? batch_size(batch) : 0;
}

via_status via_batch_run(via_batch *batch, via_stream *stream) {
    VIA_TRACE_API(via_batch_run, batch, stream);
    return guarded(__func__, required("batch", batch), [&] { return run_batch(batch, stream); });
}

via_status via_batch_submit(via_batch *batch, via_stream *stream, via_task **out_task) {
    VIA_TRACE_API(via_batch_submit, batch, stream, out_task);
    return guarded(__func__, output("out_task", out_task), required("batch", batch),
                   [&] { return submit_batch(batch, stream, out_task); });
}
