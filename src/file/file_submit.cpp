// Transfers as tasks.
#include <iterator>
#include <new>

#include "copy/copy.hpp"
#include "copy/submit.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/joined_fence.hpp"
#include "core/async/task.hpp"
#include "core/async/task_run.hpp"
#include "file/file_submit.hpp"
#include "file/file_transfer.hpp"

namespace via {
namespace {

// One transfer, and its share in the file and the arrays.
struct FileWork : TaskWork {
    explicit FileWork(const FileTransfer &ordered) : TaskWork{run_work, end_work}, transfer(ordered) {
        retain_array(transfer.array);
        if (transfer.layout != nullptr) {
            retain_array(transfer.layout);
        }
        transfer.file->references.retain();
    }

    static Status run_work(TaskWork *work, via_task *task, Fence **out_fence) {
        const FileTransfer &transfer = static_cast<FileWork *>(work)->transfer;
        return name_file(transfer.file, run_transfer(transfer, task, out_fence));
    }

    static void end_work(TaskWork *work) {
        auto *whole = static_cast<FileWork *>(work);
        release_array(whole->transfer.array);
        if (whole->transfer.layout != nullptr) {
            release_array(whole->transfer.layout);
        }
        release_file(whole->transfer.file);
        delete whole;
    }

    FileTransfer transfer;
};

Status find_dependency(via_array *array, via_stream *stream, Fence **out_dependency) {
    Fence *fences[] = {nullptr, last_write(array->storage)};
    if (const Status status = dependency_of_stream(stream, array->device_id, &fences[0]); status != VIA_OK) {
        const UniqueFence ready(fences[1]);
        return status;
    }
    return join_fences(fences, std::size(fences), out_dependency);
}

// Readers of a destination wait for the task, and the release of either for its end.
Status mark_array(const FileTransfer &transfer, via_task *task) {
    const UniqueFence fence(task_fence(task));
    Storage *storage = transfer.array->storage;
    return transfer.towards == Towards::Memory ? set_last_write(storage, fence.get())
                                               : add_access(storage, fence.get());
}

Status start(const FileTransfer &ordered, Fence *dependency, via_task **out_task) {
    auto *work = new (std::nothrow) FileWork(ordered);
    if (work == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a task");
    }
    const Status status = start_task(work, ordered.array->nbytes(), dependency, false, out_task);
    if (status != VIA_OK) {
        FileWork::end_work(work);
    }
    return status;
}

Status submit(const FileTransfer &given, via_stream *stream, via_task **out_task) {
    OrderedTransfer ordered;
    VIA_TRY(ordered.order(given));
    VIA_TRY(check_transfer(ordered.get()));
    UniqueFence dependency;
    VIA_TRY(find_dependency(given.array, stream, dependency.out()));
    via_task *task = nullptr;
    VIA_TRY(start(ordered.get(), dependency.get(), &task));
    if (const Status status = mark_array(given, task); status != VIA_OK) {
        cancel_task(task);
        release_task(task);
        return status;
    }
    *out_task = task;
    return VIA_OK;
}

}  // namespace

Status submit_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream, via_task **out_task) {
    return submit({file, dst, Towards::Memory, byte_offset}, stream, out_task);
}

Status submit_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream, via_task **out_task) {
    return submit({file, src, Towards::File, byte_offset}, stream, out_task);
}

}  // namespace via
