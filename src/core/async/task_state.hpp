// The inside of a task: its states, and how it ends. For the files that implement task.hpp.
#pragma once

#include <pthread.h>

#include <atomic>

#include "core/async/reaper.hpp"
#include "core/async/task.hpp"
#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"
#include "core/diagnostics/handle_registry.hpp"

namespace via {

enum class TaskState : int32_t {
    Waiting,    // for the dependency, or for a thread
    Running,    // `run` is being called
    Submitted,  // a device does the rest; end_fence says until when
    Ending,     // `end` is being called; the outcome is known
    Ended
};

// What a task came to. `text` is borrowed.
struct TaskOutcome {
    Status status;
    int32_t code;
    const char *text;
};

// Of all tasks; never held while anything outside these files is called.
extern ForkSafeMutex task_mutex;

// How often this process and its parents have forked.
uint32_t fork_count();

// What the pool and the reaper know a task by.
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

// Held by the machinery as well as by its handles, from the start until no watch and no job knows it any more.
struct via_task final : public via::Fence {
    via_task(via::TaskWork *given, int64_t nbytes) : work(given), total(nbytes) { text[0] = '\0'; }

    via::TaskWork *const work;
    const int64_t total;
    const uint32_t born = via::fork_count();
    std::atomic<int64_t> done{0};
    std::atomic<bool> cancelled{false};
    std::atomic<via::TaskState> state{via::TaskState::Waiting};  // changed with the lock held

    // With the lock held.
    bool began = false;
    via::Fence *dependency = nullptr;  // until the work begins; for good if it never does
    via::Fence *end_fence = nullptr;   // of the device, while Submitted
    via_complete_fn complete = nullptr;
    void *context = nullptr;
    bool delivered = false;  // the callback has been called, or is about to be
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

    // Settled from Ending on.
    via::Status status = VIA_OK;
    int32_t code = 0;
    char text[via::ErrorRecord::kCapacity];

    via::TaskJob job{{}, this};
    via::TaskDeferred deferred{{}, this};

    bool is_complete() override;
    via::Status wait() override;
    via::Status make_stream_wait(const via::ResolvedStream &stream) override;
    static void operator delete(void *block) { via::delete_handle(block); }

protected:
    ~via_task() override;
};

namespace via {

// Work that fails behind a call that does not fail leaves the thread's last error as it was.
class LastErrorKeeper {
public:
    LastErrorKeeper() : kept_(thread_state().record()) {}
    ~LastErrorKeeper() { thread_state().record() = kept_; }
    LastErrorKeeper(const LastErrorKeeper &) = delete;
    LastErrorKeeper &operator=(const LastErrorKeeper &) = delete;

private:
    const ErrorRecord kept_;
};

// With the text of the thread's last failing call.
TaskOutcome outcome_of(Status status);

inline TaskState state_of(via_task *task) { return task->state.load(std::memory_order_acquire); }

// With the lock held. The first failure stands.
void set_outcome(via_task *task, const TaskOutcome &outcome);
void enter(via_task *task, TaskState state);

// In a forked child nothing runs that would end a task of the parent: it has ended. What such a task held is not let go
// of: a copy may have been under way.
void fail_after_fork(via_task *task);

// False if the task is not in that state any more, so that another thread ends it.
bool end_task(via_task *task, TaskState from, const TaskOutcome &outcome);

// Waits on the host, helping nothing along.
void wait_for_state(via_task *task, TaskState least);

// Calls the callback of a task that has one and has ended.
void call_back(via_task *task);

// The same, if it is due and nobody else does.
void deliver(via_task *task);

// What the device's part of the work ends with, while it is under way; retained for the caller.
Fence *device_fence(via_task *task);

}  // namespace via
