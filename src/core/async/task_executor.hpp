// Threads of the library for what runs behind the caller: tasks, and callbacks of the caller that must not hold up the
// reaper. They are started when all others are busy, wait in between, and end when idle for long; a forked child
// starts with none. At most 64: jobs beyond wait for one of them.
#pragma once

#include "core/base/status.hpp"

namespace via {

struct Job {
    void (*run)(Job *job);  // owns the job from then on
    Job *next;              // the pool's own
};

// Hands the job over; VIA_ERROR_OUT_OF_MEMORY if there is no thread at all and none can be started: the job is then
// still the caller's.
VIA_NODISCARD Status execute(Job *job);

// For a job that comes later and must not be without a thread then: one is started now where there is none, and the
// last one does not end before as many calls of unreserve_thread. Errors: VIA_ERROR_OUT_OF_MEMORY if none can be
// started.
VIA_NODISCARD Status reserve_thread();
void unreserve_thread();

// How many threads there are now.
int32_t executor_threads();

}  // namespace via
