#include "core/async/task.hpp"

#include <algorithm>

#include "core/async/task_state.hpp"

namespace via {
namespace {

// Waits for the device and ends the task, before the reaper sees the end.
void wait_for_device(via_task *task) {
    const UniqueFence fence(device_fence(task));
    if (fence.get() == nullptr) {
        return;
    }
    const LastErrorKeeper scope;
    const Status status = fence.get()->wait();
    // A failure of this wait alone is no failure of the task.
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
                    "the caller is a callback of the library, and the task has not ended; expected a wait outside of "
                    "callbacks");
    }
    wait_for_state(task, TaskState::Submitted);
    if (least > TaskState::Submitted) {
        wait_for_device(task);
        wait_for_state(task, least);
    }
    return VIA_OK;
}

// Returns true if no part of the work was ever done. For a task that is Ending or Ended.
bool never_began(via_task *task) { return !task->began && task->status == VIA_ERROR_CANCELLED; }

Status own_status(via_task *task) {
    return task->status == VIA_OK ? VIA_OK : fail_with_code(task->status, task->code, "%s", task->text);
}

constexpr TaskOutcome kCancelled{VIA_ERROR_CANCELLED, 0, "the task was cancelled"};

// Drops the machinery's reference. Waits for a thread that is just ending the task, since the callback comes after
// that.
void deliver_and_release(via_task *task) {
    wait_for_state(task, TaskState::Ended);
    deliver(task);
    task->release();
}

via_task *task_of(Job *job) { return reinterpret_cast<TaskJob *>(job)->task; }
via_task *task_of(DeferredCallback *deferred) { return reinterpret_cast<TaskDeferred *>(deferred)->task; }

// Passes the machinery's reference to the reaper.
void defer_until(via_task *task, Fence *fence, void (*invoke)(DeferredCallback *deferred)) {
    task->deferred.fence = fence;
    task->deferred.deferred = DeferredCallback{&task->deferred.fence, 1, invoke, nullptr};
    defer(&task->deferred.deferred);
}

void device_has_ended(DeferredCallback *deferred) {
    via_task *task = task_of(deferred);
    {
        const UniqueFence fence(device_fence(task));
        const Status status = fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
        (void)end_task(task, TaskState::Submitted, outcome_of(status));
    }
    deliver_and_release(task);
}

// Consumes a reference to the fence. Waits on this thread if there is no reaper.
void enter_submitted(via_task *task, Fence *fence, const TaskOutcome &so_far) {
    fence->retain();
    {
        const std::lock_guard lock(task_mutex);
        set_outcome(task, so_far);
        task->end_fence.reset(fence);
        enter(task, TaskState::Submitted);
    }
    if (has_reaper()) {
        defer_until(task, fence, device_has_ended);
    } else {
        fence->release();
        device_has_ended(&task->deferred.deferred);
    }
}

// Returns false if the task was cancelled, or belongs to the parent of this forked child.
bool begin(via_task *task) {
    fail_after_fork(task);
    UniqueFence dependency;
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != TaskState::Waiting) {
            return false;
        }
        task->began = true;
        dependency.reset(task->dependency.release());
        enter(task, TaskState::Running);
    }
    return true;
}

void run(via_task *task) {
    if (begin(task)) {
        Fence *fence = nullptr;
        const TaskOutcome outcome = outcome_of(task->work->run(task, &fence));
        if (fence != nullptr) {
            return enter_submitted(task, fence, outcome);
        }
        (void)end_task(task, TaskState::Running, outcome);
    }
    deliver_and_release(task);
}

void run_job(Job *job) { run(task_of(job)); }

void run_after_dependency(DeferredCallback *deferred) {
    unreserve_thread();
    run(task_of(deferred));
}

void deliver_job(Job *job) { deliver_and_release(task_of(job)); }

// Makes sure that there is a reaper: without one the task would never begin, or never end.
Status need_reaper() {
    return has_reaper()
               ? VIA_OK
               : fail(VIA_ERROR_OUT_OF_MEMORY, "no thread to wait for other work could be started; expected 1");
}

Status begin_after(via_task *task, Fence *dependency) {
    VIA_TRY(need_reaper());
    VIA_TRY(reserve_thread());
    task->dependency.reset(retained(dependency));
    defer_until(task, retained(dependency), run_after_dependency);
    return VIA_OK;
}

Status begin_task(via_task *task, Fence *dependency, bool immediate) {
    if (dependency != nullptr && !dependency->is_complete()) {
        return begin_after(task, dependency);
    }
    if (immediate) {
        VIA_TRY(need_reaper());
        const LastErrorKeeper scope;
        run(task);
        return VIA_OK;
    }
    task->job.job.run = run_job;
    return execute(&task->job.job);
}

// Calls back soon after a cancellation. A task without dependency has a job under way that calls back; that of a task
// with one may come much later.
void deliver_soon(via_task *task) {
    const bool is_due = [&] {
        const std::lock_guard lock(task_mutex);
        return task->dependency.get() != nullptr && task->complete != nullptr;
    }();
    if (!is_due) {
        return;
    }
    const LastErrorKeeper scope;
    task->retain();
    task->job.job.run = deliver_job;
    if (execute(&task->job.job) != VIA_OK) {
        task->release();
    }
}

}  // namespace

Status start_task(TaskWork *work, int64_t nbytes, Fence *dependency, bool immediate, via_task **out_task) {
    via_task *task = nullptr;
    if (const Status made = make_object("a handle", &task, work, nbytes); made != VIA_OK) {
        work->end();
        return made;
    }
    task->retain();  // for the machinery
    count(Counter::PendingTasks, 1);
    const Status status = begin_task(task, dependency, immediate);
    if (status != VIA_OK) {
        count(Counter::PendingTasks, -1);
        task->release();
        task->release();
        work->end();
        return status;
    }
    *out_task = task;
    return VIA_OK;
}

void cancel_task(via_task *task) {
    fail_after_fork(task);
    task->cancelled.store(true, std::memory_order_relaxed);
    if (end_task(task, TaskState::Waiting, kCancelled)) {
        deliver_soon(task);
    }
}

Status hand_out_task(via_task *task, Status noted, via_task **out_task) {
    if (noted == VIA_OK) [[likely]] {
        *out_task = task;
    } else {
        cancel_task(task);
        release_task(task);
    }
    return noted;
}

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

Status fail_cancelled(int64_t done, int64_t total, const char *units) {
    return fail(VIA_ERROR_CANCELLED, "the task was cancelled after %lld of %lld %s", as_printed(done),
                as_printed(total), units);
}

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
        return fail(VIA_ERROR_INVALID_ARGUMENT, "complete is a second callback of the task; expected one at most");
    }
    if (is_due) {
        call_back(task);
    }
    return VIA_OK;
}

}  // namespace via

using namespace via;

bool via_task::is_complete() {
    fail_after_fork(this);
    if (state_of(this) < TaskState::Submitted) {
        return false;
    }
    const UniqueFence fence(device_fence(this));
    if (fence.get() != nullptr) {
        return fence.get()->is_complete();
    }
    return !never_began(this) || dependency.get() == nullptr || dependency.get()->is_complete();
}

Status via_task::wait() {
    VIA_TRY(wait_until(this, TaskState::Ending));
    if (never_began(this)) {
        return dependency.get() != nullptr ? dependency.get()->wait() : VIA_OK;
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
        return dependency.get() != nullptr ? dependency.get()->make_stream_wait(stream) : VIA_OK;
    }
    return own_status(this);
}
