#include "core/async/task.hpp"

#include <algorithm>

#include "core/base/lock.hpp"
#include "core/async/task_state.hpp"

namespace via {
namespace {

// Whoever waits for the device sees its end before the watcher does, and ends the task.
void wait_for_device(via_task *task) {
    const MarkHolder mark(device_mark(task));
    if (mark.get() == nullptr) {
        return;
    }
    const LastErrorKeeper scope;
    const Status status = mark.get()->wait();
    // A failure that is only this thread's says nothing about the task.
    if (status == VIA_OK || mark.get()->reached()) {
        (void)end_task(task, TaskState::HandedOver, outcome_of(status));
    }
}

Status wait_until(via_task *task, TaskState least) {
    bury_if_orphaned(task);
    if (state_of(task) >= least) {
        return VIA_OK;
    }
    if (inside_callback()) {
        return fail(VIA_ERROR_WOULD_DEADLOCK,
                    "the task has not ended, and this is a callback of the library; expected a wait outside of it");
    }
    wait_for_state(task, TaskState::HandedOver);
    if (least > TaskState::HandedOver) {
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

Mark *task_mark(via_task *task) { return retained(task); }

void retain_task(via_task *task) { task->retain(); }

void release_task(via_task *task) { task->release(); }

Status wait_for_task(via_task *task) {
    VIA_TRY(wait_until(task, TaskState::Ended));
    return own_status(task);
}

bool task_ended(via_task *task) {
    bury_if_orphaned(task);
    return state_of(task) == TaskState::Ended;
}

Status task_failure(via_task *task) { return task_ended(task) ? own_status(task) : VIA_OK; }

void task_progress(via_task *task, int64_t *out_done, int64_t *out_total) {
    *out_done = task->done.load(std::memory_order_relaxed);
    *out_total = task->total;
}

Status on_task_complete(via_task *task, via_complete_fn complete, void *context) {
    bury_if_orphaned(task);
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
    for (Mark *mark : {gate, end_mark}) {
        if (mark != nullptr) {
            mark->release();
        }
    }
}

bool via_task::reached() {
    bury_if_orphaned(this);
    if (state_of(this) < TaskState::HandedOver) {
        return false;
    }
    const MarkHolder mark(device_mark(this));
    if (mark.get() != nullptr) {
        return mark.get()->reached();
    }
    return !never_began(this) || gate == nullptr || gate->reached();
}

Status via_task::wait() {
    VIA_TRY(wait_until(this, TaskState::Ending));
    if (never_began(this)) {
        return gate != nullptr ? gate->wait() : VIA_OK;
    }
    return own_status(this);
}

Status via_task::order(const StreamUse &stream) {
    VIA_TRY(wait_until(this, TaskState::HandedOver));
    const MarkHolder mark(device_mark(this));
    if (mark.get() != nullptr) {
        return mark.get()->order(stream);
    }
    if (never_began(this)) {
        return gate != nullptr ? gate->order(stream) : VIA_OK;
    }
    return own_status(this);
}
