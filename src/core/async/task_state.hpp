// State of a task, for the files that implement task.hpp.
#pragma once

#include <pthread.h>

#include <atomic>

#include "core/async/reaper.hpp"
#include "core/async/task.hpp"
#include "core/base/first_failure.hpp"
#include "core/base/lock.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {

enum class TaskState : int32_t {
    Waiting,    // for the dependency, or for a thread
    Running,    // TaskWork::run is being called
    Submitted,  // a device does the rest, until end_fence
    Ending,     // the outcome is known; TaskWork::end is being called
    Ended
};

// Result of a task. `text` is borrowed.
struct TaskOutcome {
    Status status;
    int32_t code;
    const char *text;
};

// Guards all tasks. Never held while code outside these files is called.
extern ForkSafeMutex task_mutex;

// Connect a task to the executor and the reaper.
struct TaskJob {
    Job job{};
    via_task *task;
};

struct TaskDeferred {
    DeferredCallback deferred{};
    via_task *task;
    Fence *fence = nullptr;
};

}  // namespace via

// Held by its handles, and by the machinery until the callback has been called.
struct via_task final : public via::Fence {
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

    via::TaskJob job{{}, this};
    via::TaskDeferred deferred{{}, this};

    bool is_complete() override;
    via::Status wait() override;
    via::Status make_stream_wait(const via::ResolvedStream &stream) override;
    static void operator delete(void *block) { via::delete_handle(block); }
};

namespace via {

// Makes an outcome with the text of the thread's last failing call.
TaskOutcome outcome_of(Status status);

inline TaskState state_of(via_task *task) { return task->state.load(std::memory_order_acquire); }

// Record the outcome, where the first failure stands, and change the state. Call both with task_mutex held.
void set_outcome(via_task *task, const TaskOutcome &outcome);
void enter(via_task *task, TaskState state);

// Ends a task of the parent in a forked child, where no thread would. Releases nothing that it held: a copy may have
// been under way.
void fail_after_fork(via_task *task);

// Ends the task; returns false if it has left the state `from`, because another thread ends it.
bool end_task(via_task *task, TaskState from, const TaskOutcome &outcome);

// Waits on the host for another thread to change the state.
void wait_for_state(via_task *task, TaskState least);

// Calls the callback of a task that has one and has ended.
void call_back(via_task *task);

// Does the same if the callback is due and no other thread calls it.
void deliver(via_task *task);

// Returns the fence of a Submitted task, retained for the caller; nullptr in any other state.
Fence *device_fence(via_task *task);

}  // namespace via
