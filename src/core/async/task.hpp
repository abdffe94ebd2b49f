// A task: one transfer that runs behind the caller, with a state that can be asked for, waited for and called back
// from.
#pragma once

#include <cstdint>

#include "core/async/fence.hpp"

namespace via {

// What a task does, and on what it stands. All members are the implementer's.
struct TaskWork {
    // Does the work on a thread of the library; `task` is for progress and for asking whether to stop. A fence stored
    // in *out_fence (retained for the task) says that the work has been handed to a device and ends there; none, that
    // it has been done. A failing one may store a fence too: part of the work is then still on the device. Called once,
    // after `dependency`, unless the task was cancelled before.
    Status (*run)(TaskWork *work, via_task *task, Fence **out_fence);
    // Lets go of what the work held; called once, when nothing of it runs any more and before anybody is told that the
    // task has ended: on the thread that ran it, waited for it or cancelled it, or on a thread of the library where a
    // device did the rest.
    void (*end)(TaskWork *work);
};

// For the work: bytes done in all so far (a smaller number than before changes nothing), and whether to stop. Any
// thread; a NULL task is none, and is not cancelled.
void report_progress(via_task *task, int64_t nbytes_done);
bool is_cancelled(via_task *task);

// The end of the task as a fence; retained for the caller. Where the task was cancelled before it began, its
// dependency: so whoever comes after the task still comes after what the task would have come after.
Fence *task_fence(via_task *task);

void retain_task(via_task *task);
void release_task(via_task *task);

// Waits for the end; the task's own status, with its text. Errors: VIA_ERROR_WOULD_DEADLOCK in a callback of the
// library, unless the task has ended.
VIA_NODISCARD Status wait_for_task(via_task *task);

// True in a forked child for every task of the parent: those that had not ended then count as failed with
// VIA_ERROR_FORKED, and what they held is never let go of there.
bool task_ended(via_task *task);

void task_progress(via_task *task, int64_t *out_done, int64_t *out_total);

// VIA_OK if the task has not ended, else its own status, with its text.
VIA_NODISCARD Status task_failure(via_task *task);

// Errors: VIA_ERROR_INVALID_ARGUMENT if there is a callback already.
VIA_NODISCARD Status on_task_complete(via_task *task, via_complete_fn complete, void *context);

}  // namespace via
