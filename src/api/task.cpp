#include "api/guard.hpp"

using namespace via;

// Tasks and batches run on streams: without CUDA none can be made, so that there is none to act on.

namespace {

constexpr char kTask[] = "a task";
constexpr char kBatch[] = "a batch of copies";

template <class Handle>
Status refuse(const char *function, const char *argument, Handle *handle, const char *what) {
    return guarded(function, [&]() -> Status {
        VIA_TRY(require(argument, handle));
        return no_cuda(what);
    });
}

}  // namespace

void via_task_retain(via_task *) {}

void via_task_release(via_task *) {}

via_status via_task_wait(via_task *task) { return refuse(__func__, "task", task, kTask); }

via_status via_task_poll(via_task *task, int32_t *out_done) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_done", out_done));
        VIA_TRY(require("task", task));
        return no_cuda(kTask);
    });
}

via_status via_task_progress(via_task *task, int64_t *out_done, int64_t *out_total) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_done", out_done));
        VIA_TRY(clear_output("out_total", out_total));
        VIA_TRY(require("task", task));
        return no_cuda(kTask);
    });
}

via_status via_task_cancel(via_task *task) { return refuse(__func__, "task", task, kTask); }

via_status via_task_join(via_task *task, via_stream *) { return refuse(__func__, "task", task, kTask); }

via_status via_task_on_complete(via_task *task, via_complete_fn, void *) {
    return refuse(__func__, "task", task, kTask);
}

via_status via_batch_create(via_batch **out_batch) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_batch", out_batch));
        return no_cuda(kBatch);
    });
}

void via_batch_retain(via_batch *) {}

void via_batch_release(via_batch *) {}

via_status via_batch_add(via_batch *batch, via_array *, via_array *) {
    return refuse(__func__, "batch", batch, kBatch);
}

int64_t via_batch_size(via_batch *) { return 0; }

via_status via_batch_run(via_batch *batch, via_stream *) { return refuse(__func__, "batch", batch, kBatch); }

via_status via_batch_submit(via_batch *batch, via_stream *, via_task **out_task) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_task", out_task));
        VIA_TRY(require("batch", batch));
        return no_cuda(kBatch);
    });
}
