#include "core/async/task.hpp"

#include <algorithm>

#include "core/async/task_state.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

// Whoever waits for the device sees its end before the reaper does, and ends the task.
void wait_for_device(via_task *task) {
    const UniqueFence fence(device_fence(task));
    if (fence.get() == nullptr) {
        return;
    }
    const LastErrorKeeper scope;
    const Status status = fence.get()->wait();
    // A failure that is only this thread's says nothing about the task.
    if (status == VIA_OK || fence.get()->is_complete()) {
        (void)end_task(task, TaskState::Submitted, outcome_of(status));
    }
}

Status wait_until(via_task *task, TaskState least) {
    fail_after_fork(task);
    if (state_of(task) >= least) {
        return VIA_OK;
    }
    if (inside_callback()) {
        return fail(VIA_ERROR_WOULD_DEADLOCK,
                    "the task has not ended, and this is a callback of the library; expected a wait outside of it");
    }
    wait_for_state(task, TaskState::Submitted);
    if (least > TaskState::Submitted) {
        wait_for_device(task);
        wait_for_state(task, least);
    }
    return VIA_OK;
}

// Only of a task that is Ending or Ended: nothing of it was ever done.
bool never_began(via_task *task) { return !task->began && task->status == VIA_ERROR_CANCELLED; }

Status own_status(via_task *task) {
    return task->status == VIA_OK ? VIA_OK : fail_with_code(task->status, task->code, "%s", task->text);
}

}  // namespace

void report_progress(via_task *task, int64_t nbytes_done) {
    if (task == nullptr) {
        return;
    }
    const int64_t reported = std::min(nbytes_done, task->total);
    int64_t before = task->done.load(std::memory_order_relaxed);
    while (before < reported && !task->done.compare_exchange_weak(before, reported, std::memory_order_relaxed)) {
    }
}

bool is_cancelled(via_task *task) { return task != nullptr && task->cancelled.load(std::memory_order_relaxed); }

Fence *task_fence(via_task *task) { return retained(task); }

void retain_task(via_task *task) { task->retain(); }

void release_task(via_task *task) { task->release(); }

Status wait_for_task(via_task *task) {
    VIA_TRY(wait_until(task, TaskState::Ended));
    return own_status(task);
}

bool task_ended(via_task *task) {
    fail_after_fork(task);
    return state_of(task) == TaskState::Ended;
}

Status task_failure(via_task *task) { return task_ended(task) ? own_status(task) : VIA_OK; }

void task_progress(via_task *task, int64_t *out_done, int64_t *out_total) {
    *out_done = task->done.load(std::memory_order_relaxed);
    *out_total = task->total;
}

Status on_task_complete(via_task *task, via_complete_fn complete, void *context) {
    fail_after_fork(task);
    bool is_due = false;
    bool is_second = false;
    {
        const std::lock_guard lock(task_mutex);
        is_second = task->complete != nullptr;
        if (!is_second) {
            task->complete = complete;
            task->context = context;
            task->delivered = is_due = state_of(task) == TaskState::Ended;
        }
    }
    if (is_second) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "the task has a callback already; expected one at most");
    }
    if (is_due) {
        call_back(task);
    }
    return VIA_OK;
}

}  // namespace via

using namespace via;

via_task::~via_task() {
    for (Fence *fence : {dependency, end_fence}) {
        if (fence != nullptr) {
            fence->release();
        }
    }
}

bool via_task::is_complete() {
    fail_after_fork(this);
    if (state_of(this) < TaskState::Submitted) {
        return false;
    }
    const UniqueFence fence(device_fence(this));
    if (fence.get() != nullptr) {
        return fence.get()->is_complete();
    }
    return !never_began(this) || dependency == nullptr || dependency->is_complete();
}

Status via_task::wait() {
    VIA_TRY(wait_until(this, TaskState::Ending));
    if (never_began(this)) {
        return dependency != nullptr ? dependency->wait() : VIA_OK;
    }
    return own_status(this);
}

Status via_task::make_stream_wait(const ResolvedStream &stream) {
    VIA_TRY(wait_until(this, TaskState::Submitted));
    const UniqueFence fence(device_fence(this));
    if (fence.get() != nullptr) {
        return fence.get()->make_stream_wait(stream);
    }
    if (never_began(this)) {
        return dependency != nullptr ? dependency->make_stream_wait(stream) : VIA_OK;
    }
    return own_status(this);
}
