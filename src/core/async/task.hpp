// Tasks: asynchronous transfers that can be queried, waited for, cancelled, and that call back at their end.
//
// How it works
//
// A task goes through these states, in this order; a task may skip Submitted:
//   Waiting    for its dependency (a fence), or for a thread
//   Running    TaskWork::run is being called
//   Submitted  run has returned a fence: a device does the rest
//   Ending     the outcome is known; TaskWork::end is being called
//   Ended      waiters return and the callback is called
//
// start_task chooses who calls run:
//   - with a pending dependency, the reaper passes the task to a thread of the executor when the fence completes;
//     that thread is reserved in advance, so that a task that was accepted always runs;
//   - an immediate task, whose work only queues device operations, runs on the calling thread;
//   - any other task runs on a thread of the executor.
//
// Several threads may try to end a task: the one that ran it, the reaper, a thread that waits for it, and one that
// cancels it. end_task changes the state under task_mutex, so exactly one of them wins. That thread calls
// TaskWork::end, which releases the arrays, before the task counts as ended.
//
// A task is reference counted: its handles hold it, and so does the machinery from start_task until the callback has
// been called. It is a Fence too, so arrays remember it as their last write or as an access.
//
// Cancellation only ends a Waiting task. A Running one polls is_cancelled and returns VIA_ERROR_CANCELLED. A Submitted
// one is not affected. The fence of a task that was cancelled before it began completes with its dependency: work
// ordered after the task stays ordered after everything that the task would have waited for.
//
// A forked child has no thread that could end a task of its parent. The first look at such a task there
// (fail_after_fork) ends it with VIA_ERROR_FORKED, without calling TaskWork::end or the callback.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/async/fence.hpp"

namespace via {

// Work of a task.
class TaskWork {
public:
    TaskWork() = default;
    TaskWork(const TaskWork &) = delete;
    TaskWork &operator=(const TaskWork &) = delete;

    // Does the work. Use `task` to report progress and to poll for cancellation. Stores a fence in *out_fence, retained
    // for the task, if a device does the rest; the work is complete without one. A failing call may store a fence too,
    // for the part that the device still runs. Called once, after the dependency, unless the task is cancelled before.
    VIA_NODISCARD virtual Status run(via_task *task, Fence **out_fence) = 0;

    // Releases everything that the work holds. Called once, when no part of it runs any more and before the task counts
    // as ended. The thread is the one that ran, awaited or cancelled the task, or one of the library if a device did
    // the rest.
    virtual void end() { delete this; }

protected:
    virtual ~TaskWork() noexcept(false) = default;  // releases arrays, which may call what the caller gave
};

// Owns work until start_task gets it.
template <class Work>
using UniqueWork = UniqueHandle<Work, &TaskWork::end>;

// Starts a task of `nbytes`, whose work runs after `dependency` (nullptr: at once). Retains the dependency. Consumes
// the work: on failure it ends without having run. An `immediate` task, whose work never waits, runs on the calling
// thread if the dependency has completed; a failure of the work is then the task's, and leaves the thread's last error
// unchanged. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status start_task(TaskWork *work, int64_t nbytes, Fence *dependency, bool immediate, via_task **out_task);

void cancel_task(via_task *task);

// Called by the work, on any thread. nbytes_done counts all bytes so far; smaller numbers than before are ignored. A
// NULL task has no progress and is never cancelled.
void report_progress(via_task *task, int64_t nbytes_done);
bool is_cancelled(via_task *task);

// Returns VIA_ERROR_CANCELLED, for work that saw the cancellation after `done` of `total` units, such as "bytes".
VIA_NODISCARD Status fail_cancelled(int64_t done, int64_t total, const char *units);

// Calls work(first, last) for one piece after another of `count` items that have `nbytes` in all, and reports progress
// on top of `done_before` bytes. Errors: VIA_ERROR_CANCELLED, between two pieces.
template <class Work>
VIA_NODISCARD Status run_in_pieces(int64_t count, int64_t nbytes, int64_t done_before, via_task *task,
                                   const Work &work) {
    constexpr int64_t kPieceBytes = int64_t{8} << 20;
    const int64_t item = std::max<int64_t>(nbytes / std::max<int64_t>(count, 1), 1);
    const int64_t each = std::max<int64_t>(kPieceBytes / item, 1);
    for (int64_t first = 0; first < count; first += each) {
        report_progress(task, done_before + first * item);
        if (is_cancelled(task)) {
            return fail_cancelled(first * item, nbytes, "bytes");
        }
        work(first, std::min(first + each, count));
    }
    report_progress(task, done_before + nbytes);
    return VIA_OK;
}

// Returns the end of the task as a fence, retained for the caller.
Fence *task_fence(via_task *task);

void retain_task(via_task *task);
void release_task(via_task *task);

// Starts a task, and stores it once `note` has noted its end, a fence, on the arrays. Cancels it if that fails.
template <class Note>
VIA_NODISCARD Status submit_work(TaskWork *work, int64_t nbytes, Fence *dependency, bool immediate, const Note &note,
                                 via_task **out_task) {
    via_task *task = nullptr;
    VIA_TRY(start_task(work, nbytes, dependency, immediate, &task));
    const UniqueFence end(task_fence(task));
    if (const Status noted = note(end.get()); noted != VIA_OK) [[unlikely]] {
        cancel_task(task);
        release_task(task);
        return noted;
    }
    *out_task = task;
    return VIA_OK;
}

// Waits for the end and returns the task's own status, with its text. Errors: VIA_ERROR_WOULD_DEADLOCK in a callback of
// the library, unless the task has ended.
VIA_NODISCARD Status wait_for_task(via_task *task);

// Returns whether the task has ended; always true in a forked child for tasks of the parent.
bool task_ended(via_task *task);

void task_progress(via_task *task, int64_t *out_done, int64_t *out_total);

// Returns the task's own status, with its text, if it has ended, otherwise VIA_OK.
VIA_NODISCARD Status task_failure(via_task *task);

// Registers the callback. Errors: VIA_ERROR_INVALID_ARGUMENT if there is one already.
VIA_NODISCARD Status on_task_complete(via_task *task, via_complete_fn complete, void *context);

}  // namespace via
