// How a task comes to run: behind its dependency, on a thread of the library or the caller's, and on behind the device.
#include <new>
#include <utility>

#include "core/async/task_run.hpp"
#include "core/async/task_state.hpp"
#include "core/base/lock.hpp"

namespace via {
namespace {

constexpr TaskOutcome kCancelled{VIA_ERROR_CANCELLED, 0, "the task was cancelled"};

// The machinery is done with it. Where a thread of the caller is just ending the task, its callback is still due here.
void deliver_and_release(via_task *task) {
    wait_for_state(task, TaskState::Ended);
    deliver(task);
    task->release();
}

via_task *task_of(Job *job) { return reinterpret_cast<TaskJob *>(job)->task; }
via_task *task_of(DeferredCallback *deferred) { return reinterpret_cast<TaskDeferred *>(deferred)->task; }

// From now on the reaper has the machinery's reference.
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

// Takes the fence over. Where nobody can watch it, this thread waits.
void hand_over(via_task *task, Fence *fence, const TaskOutcome &so_far) {
    fence->retain();
    {
        const std::lock_guard lock(task_mutex);
        set_outcome(task, so_far);
        task->end_fence = fence;
        enter(task, TaskState::Submitted);
    }
    if (has_reaper()) {
        defer_until(task, fence, device_has_ended);
    } else {
        fence->release();
        device_has_ended(&task->deferred.deferred);
    }
}

// False if the task has been cancelled, or was the parent's of a forked child.
bool begin(via_task *task) {
    fail_after_fork(task);
    Fence *dependency = nullptr;
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != TaskState::Waiting) {
            return false;
        }
        task->began = true;
        dependency = std::exchange(task->dependency, nullptr);
        enter(task, TaskState::Running);
    }
    if (dependency != nullptr) {
        dependency->release();
    }
    return true;
}

void run(via_task *task) {
    if (begin(task)) {
        Fence *fence = nullptr;
        const TaskOutcome outcome = outcome_of(task->work->run(task->work, task, &fence));
        if (fence != nullptr) {
            return hand_over(task, fence, outcome);
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

// What nobody watches would never begin, or never end.
Status need_reaper() {
    return has_reaper()
               ? VIA_OK
               : fail(VIA_ERROR_OUT_OF_MEMORY, "no thread to wait for other work could be started; expected 1");
}

Status begin_behind(via_task *task, Fence *dependency) {
    VIA_TRY(need_reaper());
    VIA_TRY(reserve_thread());
    task->dependency = retained(dependency);
    defer_until(task, retained(dependency), run_after_dependency);
    return VIA_OK;
}

Status begin_somewhere(via_task *task, Fence *dependency, bool immediate) {
    if (dependency != nullptr && !dependency->is_complete()) {
        return begin_behind(task, dependency);
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

// A task without a dependency has a job under way that will do it; so has one with a dependency, but that may take
// long.
void deliver_soon(via_task *task) {
    const bool is_due = [&] {
        const std::lock_guard lock(task_mutex);
        return task->dependency != nullptr && task->complete != nullptr;
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
    auto *task = new (std::nothrow) via_task(work, nbytes);
    if (task == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %zu bytes", sizeof(via_task));
    }
    task->retain();  // the machinery's
    count(Counter::PendingTasks, 1);
    const Status status = begin_somewhere(task, dependency, immediate);
    if (status != VIA_OK) {
        count(Counter::PendingTasks, -1);
        task->release();
        task->release();
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

}  // namespace via
