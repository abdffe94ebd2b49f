// How a task comes to run.
#pragma once

#include "core/async/task.hpp"

namespace via {

// Starts a task of `nbytes`, of which `work` runs once `dependency` has been reached (nullptr: at once). Retains the
// dependency. On failure neither member of `work` is called: VIA_ERROR_OUT_OF_MEMORY. A task whose work can be handed
// over without waiting (`immediate`) calls `run` on the calling thread, if the dependency has been reached; a failure
// there is the task's and leaves the thread's last error alone.
VIA_NODISCARD Status start_task(TaskWork *work, int64_t nbytes, Fence *dependency, bool immediate, via_task **out_task);

void cancel_task(via_task *task);

}  // namespace via
