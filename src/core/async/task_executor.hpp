// The task executor: threads of the library for tasks, and for callbacks of the caller that must not block the reaper.
// Starts a thread when all others are busy, up to 64; further jobs wait. Idle threads end. A forked child starts with
// none.
#pragma once

#include "core/base/status.hpp"

namespace via {

struct Job {
    void (*run)(Job *job);  // owns the job when it is called
    Job *next;              // used by the executor
};

// Queues the job. Errors: VIA_ERROR_OUT_OF_MEMORY if there is no thread and none can be started; the caller then still
// owns the job.
VIA_NODISCARD Status execute(Job *job);

// Guarantees a thread for a job that comes later: starts one if there is none, and keeps the last one until as many
// calls of unreserve_thread. Errors: VIA_ERROR_OUT_OF_MEMORY if none can be started.
VIA_NODISCARD Status reserve_thread();
void unreserve_thread();

// Counts the threads.
int32_t executor_threads();

}  // namespace via
