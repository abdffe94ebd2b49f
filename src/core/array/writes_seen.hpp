// Notes for a public call which recorded writes it comes after. Fences that it makes remember that: see "How it
// works" in access_tracker.hpp.
#pragma once

#include "core/array/access_tracker_many.hpp"
#include "core/base/thread_state.hpp"

namespace via {

// Makes fences that the thread makes from now on come after all writes that are recorded by now, since the call waits
// for those of its arrays. A callback's calls leave it as it was (CallbackScope). Fences of a thread without a state of
// its own count as unordered.
inline void see_writes() {
    ThreadState &state = current_thread_state != nullptr ? *current_thread_state : emergency_state;
    state.writes_seen.store(write_changes(), std::memory_order_relaxed);
}

}  // namespace via
