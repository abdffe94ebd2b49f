#include "core/async/task.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include "core/async/reaper.hpp"
#include "core/base/lock.hpp"
#include "core/base/no_cancellation.hpp"
#include "core/base/utf8.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {

enum class TaskState : int32_t { Waiting, Running, Submitted, Ending, Ended };  // see task.hpp

// Result of a task. `text` is borrowed.
struct TaskOutcome {
    Status status;
    int32_t code;
    const char *text;
};

}  // namespace via

// Held by its handles, and by the machinery until the callback has been called.
struct via_task final : public via::Fence, public via::Job, public via::DeferredCallback {
    via_task(via::TaskWork *given, int64_t nbytes) : work(given), total(nbytes) { text[0] = '\0'; }

    via::TaskWork *const work;
    const int64_t total;
    const uint32_t forks_at_start = via::fork_count();
    std::atomic<int64_t> done{0};
    std::atomic<bool> cancelled{false};
    std::atomic<via::TaskState> state{via::TaskState::Waiting};  // changed with the lock held

    // Guarded by task_mutex.
    bool began = false;
    via::UniqueFence dependency;  // until the work begins; for good if it never does
    via::UniqueFence end_fence;   // of the device, while Submitted
    via_complete_fn complete = nullptr;
    void *context = nullptr;
    bool delivered = false;  // the callback was called, or is about to be
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

    // Constant from Ending on.
    via::Status status = VIA_OK;
    int32_t code = 0;
    char text[via::ErrorRecord::kCapacity];

    via::Fence *awaited = nullptr;  // by the deferred callback

    bool is_complete() override;
    via::Status wait() override;
    via::Status make_stream_wait(const via::ResolvedStream &stream) override;
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {
namespace {

// Guards all tasks. Never held while code outside this file is called.
ForkSafeMutex task_mutex;

constexpr TaskOutcome kCancelled{VIA_ERROR_CANCELLED, 0, "the task was cancelled"};
constexpr TaskOutcome kForked{VIA_ERROR_FORKED, 0, "the task was running when this process was forked"};

// Makes an outcome with the text of the thread's last failing call.
TaskOutcome outcome_of(Status status) {
    return status == VIA_OK ? TaskOutcome{VIA_OK, 0, ""} : TaskOutcome{status, last_error_code(), last_error_text()};
}

TaskState state_of(via_task *task) { return task->state.load(std::memory_order_acquire); }

// Record the outcome, where the first failure stands, and change the state. Call both with task_mutex held.
void set_outcome(via_task *task, const TaskOutcome &outcome) {
    if (task->status != VIA_OK || outcome.status == VIA_OK) {
        return;
    }
    task->status = outcome.status;
    task->code = outcome.code;
    std::snprintf(task->text, sizeof task->text, "%s", outcome.text);
    (void)make_utf8(task->text, sizeof task->text);
}

void enter(via_task *task, TaskState state) {
    task->state.store(state, std::memory_order_release);
    pthread_cond_broadcast(&task->changed);
}

// Returns the fence of a Submitted task, retained for the caller; nullptr in any other state.
Fence *device_fence(via_task *task) {
    const std::lock_guard lock(task_mutex);
    return retained(task->end_fence.get());
}

// Ends a task of the parent in a forked child, where no thread would. Releases nothing that it held: a copy may have
// been under way.
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

// Ends the task; returns false if it has left the state `from`, because another thread ends it.
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

// Waits on the host for another thread to change the state.
void wait_for_state(via_task *task, TaskState least) {
    const std::lock_guard lock(task_mutex);
    while (state_of(task) < least) {
        pthread_cond_wait(&task->changed, task_mutex.native());
    }
}

// Calls the callback of a task that has one and has ended.
void call_back(via_task *task) {
    const CallbackScope scope;
    task->complete(task->status, task->text, task->context);
}

// Does the same if the callback is due and no other thread calls it.
void deliver(via_task *task) {
    {
        const std::lock_guard lock(task_mutex);
        if (state_of(task) != TaskState::Ended || task->complete == nullptr || std::exchange(task->delivered, true)) {
            return;
        }
    }
    call_back(task);
}

// Waits for the device and ends the task, before the reaper sees the end.
void wait_for_device(via_task *task) {
    const UniqueFence fence(device_fence(task));
    if (fence.get() == nullptr) {
        return;
    }
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

// Drops the machinery's reference. Waits for a thread that is just ending the task, since the callback comes after
// that.
void deliver_and_release(via_task *task) {
    wait_for_state(task, TaskState::Ended);
    deliver(task);
    task->release();
}

// Passes the machinery's reference to the reaper.
void defer_until(via_task *task, Fence *fence, void (*invoke)(DeferredCallback *deferred)) {
    task->awaited = fence;
    static_cast<DeferredCallback &>(*task) = {&task->awaited, 1, invoke, nullptr};
    defer(task);
}

void device_has_ended(DeferredCallback *deferred) {
    auto *task = static_cast<via_task *>(deferred);
    fail_after_fork(task);
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
        device_has_ended(task);
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

void run_job(Job *job) { run(static_cast<via_task *>(job)); }

void run_after_dependency(DeferredCallback *deferred) {
    unreserve_thread();
    run(static_cast<via_task *>(deferred));
}

void deliver_job(Job *job) { deliver_and_release(static_cast<via_task *>(job)); }

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
        run(task);
        return VIA_OK;
    }
    task->Job::run = run_job;
    return execute(task);
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
    task->retain();
    task->Job::run = deliver_job;
    if (execute(task) != VIA_OK) {
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
