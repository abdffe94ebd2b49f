#include "core/async/task_state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/lock.hpp"
#include "core/base/no_cancellation.hpp"
#include "core/base/utf8.hpp"

namespace via {

ForkSafeMutex task_mutex;

namespace {

constexpr TaskOutcome kForked{VIA_ERROR_FORKED, 0, "the task was running when this process was forked"};

// Returns true for the one caller that ends the task from this state.
bool claim_end(via_task *task, TaskState from, const TaskOutcome &outcome) {
    UniqueFence end_fence;
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != from) {
            return false;
        }
        set_outcome(task, outcome);
        end_fence.reset(task->end_fence.release());
        count(Counter::PendingTasks, -1);
        enter(task, TaskState::Ending);
    }
    return true;
}

}  // namespace

TaskOutcome outcome_of(Status status) {
    return status == VIA_OK ? TaskOutcome{VIA_OK, 0, ""} : TaskOutcome{status, last_error_code(), last_error_text()};
}

void set_outcome(via_task *task, const TaskOutcome &outcome) {
    if (task->status != VIA_OK || outcome.status == VIA_OK) {
        return;
    }
    task->status = outcome.status;
    task->code = outcome.code;
    const size_t length = std::min(std::strlen(outcome.text), sizeof task->text - 1);
    std::memcpy(task->text, outcome.text, length);
    task->text[length] = '\0';
    (void)make_utf8(task->text, sizeof task->text);
}

void enter(via_task *task, TaskState state) {
    task->state.store(state, std::memory_order_release);
    pthread_cond_broadcast(&task->changed);
}

void fail_after_fork(via_task *task) {
    if (task->forks_at_start == fork_count()) [[likely]] {
        return;
    }
    const std::lock_guard lock(task_mutex);
    if (state_of(task) != TaskState::Ended) {
        task->status = VIA_OK;
        set_outcome(task, kForked);
        task->delivered = task->complete != nullptr;
        // A task that is Ending does not count as pending any more.
        count(Counter::PendingTasks, state_of(task) < TaskState::Ending ? -1 : 0);
        task->changed = PTHREAD_COND_INITIALIZER;
        enter(task, TaskState::Ended);
    }
}

bool end_task(via_task *task, TaskState from, const TaskOutcome &outcome) {
    const NoCancellation scope;
    if (!claim_end(task, from, outcome)) {
        return false;
    }
    task->work->end();
    if (task->status == VIA_OK) {
        task->done.store(task->total, std::memory_order_relaxed);
    }
    const std::lock_guard lock(task_mutex);
    enter(task, TaskState::Ended);
    return true;
}

void wait_for_state(via_task *task, TaskState least) {
    const std::lock_guard lock(task_mutex);
    while (state_of(task) < least) {
        pthread_cond_wait(&task->changed, task_mutex.native());
    }
}

void call_back(via_task *task) {
    const CallbackScope scope;
    task->complete(task->status, task->text, task->context);
}

void deliver(via_task *task) {
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != TaskState::Ended || task->complete == nullptr || std::exchange(task->delivered, true)) {
            return;
        }
    }
    call_back(task);
}

Fence *device_fence(via_task *task) {
    const std::lock_guard lock(task_mutex);
    return retained(task->end_fence.get());
}

}  // namespace via
