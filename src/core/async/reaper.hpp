// The reaper: one thread that polls fences and queues a callback when they have completed. It runs the releases of
// memory that a device still uses, and the tasks that wait for a device.
//
// How it works
//
// defer() puts a DeferredCallback in front of one linked list; only the reaper removes entries. The list is intrusive,
// so deferring allocates nothing and cannot fail. The caller allocates the entry while a failure can still be reported.
//
// The reaper loops over the list. It advances each entry past its completed fences (DeferredCallback::passed), without
// a lock, since a fence asks the driver. An entry whose fences have all completed leaves the list and goes to the task
// executor, which releases the fences and calls `invoke`. A callback that blocks therefore never blocks the reaper. If
// the executor has no thread, the entry goes back to the list for the next round.
//
// Between two rounds the reaper rests (class Pause): first it yields a few times, for work that is about to end; then
// it sleeps from 20 us up to 1 ms, doubling. After long waits it sleeps a hundredth of the time waited, at most 50 ms:
// another process may hold memory for hours. A new entry, or one that was invoked, resets the pause. A CUDA callback
// could wake it instead, but would run on a thread of the driver, where no function of the driver may be called.
//
// The thread starts with the first entry and ends after kIdleSeconds without one, unless has_reaper() was called in
// between: tasks rely on it. fork leaves the entries and no thread; resume_deferred starts one in the child.
#pragma once

#include "core/async/fence.hpp"
#include "core/async/task_executor.hpp"

namespace via {

// Calls `invoke` exactly once, on a thread of the task executor, after all fences have completed. What is called back
// derives from it.
struct DeferredCallback {
    Fence **fences;  // `count` of them, owned by the entry; may be nullptr if count is 0
    int32_t count;
    void (*invoke)(DeferredCallback *deferred);  // owns the entry when it is called; the fences are released by then
    DeferredCallback *next;                      // used by the reaper, as the rest
    int32_t passed = 0;                          // number of completed fences
    Job job{};
};

// Passes an entry to the reaper, from any thread, without waiting. Never fails: if no thread can be started now, the
// next call tries again. Never calls invoke on the calling thread.
void defer(DeferredCallback *given);

// Starts the thread if there is none; returns whether there is one. Call it before relying on a deferred callback.
VIA_NODISCARD bool has_reaper();

// Starts the thread in a forked child that has inherited entries.
void resume_deferred();

}  // namespace via
