// How a task comes to run: behind its gate, on a thread of the library or the caller's, and on behind the device.
#include <new>
#include <utility>

#include "core/base/lock.hpp"
#include "core/async/task_state.hpp"

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
via_task *task_of(Watch *watch) { return reinterpret_cast<TaskWatch *>(watch)->task; }

// From now on the watcher has the machinery's reference.
void watch_mark(via_task *task, Mark *mark, void (*fire)(Watch *watch)) {
    task->watch.mark = mark;
    task->watch.watch = Watch{&task->watch.mark, 1, fire, nullptr};
    watch(&task->watch.watch);
}

void device_has_ended(Watch *watch) {
    via_task *task = task_of(watch);
    {
        const MarkHolder mark(device_mark(task));
        const Status status = mark.get() != nullptr ? mark.get()->wait() : VIA_OK;
        (void)end_task(task, TaskState::HandedOver, outcome_of(status));
    }
    deliver_and_release(task);
}

// Takes the mark over. Where nobody can watch it, this thread waits.
void hand_over(via_task *task, Mark *mark, const TaskOutcome &so_far) {
    mark->retain();
    {
        const std::lock_guard lock(task_mutex);
        set_outcome(task, so_far);
        task->end_mark = mark;
        enter(task, TaskState::HandedOver);
    }
    if (has_watcher()) {
        watch_mark(task, mark, device_has_ended);
    } else {
        mark->release();
        device_has_ended(&task->watch.watch);
    }
}

// False if the task has been cancelled, or was the parent's of a forked child.
bool begin(via_task *task) {
    bury_if_orphaned(task);
    Mark *gate = nullptr;
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != TaskState::Waiting) {
            return false;
        }
        task->began = true;
        gate = std::exchange(task->gate, nullptr);
        enter(task, TaskState::Running);
    }
    if (gate != nullptr) {
        gate->release();
    }
    return true;
}

void run(via_task *task) {
    if (begin(task)) {
        Mark *mark = nullptr;
        const TaskOutcome outcome = outcome_of(task->work->run(task->work, task, &mark));
        if (mark != nullptr) {
            return hand_over(task, mark, outcome);
        }
        (void)end_task(task, TaskState::Running, outcome);
    }
    deliver_and_release(task);
}

void run_job(Job *job) { run(task_of(job)); }
void run_behind_gate(Watch *watch) {
    let_thread_go();
    run(task_of(watch));
}
void deliver_job(Job *job) { deliver_and_release(task_of(job)); }

// What nobody watches would never begin, or never end.
Status need_watcher() {
    return has_watcher()
               ? VIA_OK
               : fail(VIA_ERROR_OUT_OF_MEMORY, "no thread to wait for other work could be started; expected 1");
}

Status begin_behind(via_task *task, Mark *gate) {
    VIA_TRY(need_watcher());
    VIA_TRY(hold_thread());
    task->gate = retained(gate);
    watch_mark(task, retained(gate), run_behind_gate);
    return VIA_OK;
}

Status begin_somewhere(via_task *task, Mark *gate, bool immediate) {
    if (gate != nullptr && !gate->reached()) {
        return begin_behind(task, gate);
    }
    if (immediate) {
        VIA_TRY(need_watcher());
        const LastErrorKeeper scope;
        run(task);
        return VIA_OK;
    }
    task->job.job.run = run_job;
    return run_in_background(&task->job.job);
}

// A task without a gate has a job under way that will do it; so has one with a gate, but that may take long.
void deliver_soon(via_task *task) {
    const bool is_due = [&] {
        const std::lock_guard lock(task_mutex);
        return task->gate != nullptr && task->complete != nullptr;
    }();
    if (!is_due) {
        return;
    }
    const LastErrorKeeper scope;
    task->retain();
    task->job.job.run = deliver_job;
    if (run_in_background(&task->job.job) != VIA_OK) {
        task->release();
    }
}

}  // namespace

Status start_task(TaskWork *work, int64_t nbytes, Mark *gate, bool immediate, via_task **out_task) {
    auto *task = new (std::nothrow) via_task(work, nbytes);
    if (task == nullptr) {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a handle of %zu bytes", sizeof(via_task));
    }
    task->retain();  // the machinery's
    count(Counter::PendingTasks, 1);
    const Status status = begin_somewhere(task, gate, immediate);
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
    bury_if_orphaned(task);
    task->cancelled.store(true, std::memory_order_relaxed);
    if (end_task(task, TaskState::Waiting, kCancelled)) {
        deliver_soon(task);
    }
}

}  // namespace via
