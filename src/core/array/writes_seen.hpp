// Tells for a public call which recorded writes it has come after. Fences that it makes remember that: see "How it
// works" in access_tracker.hpp.
#pragma once

#include "core/array/access_tracker_many.hpp"
#include "core/base/thread_state.hpp"

namespace via {

// Lives as long as the call. Makes fences of its thread come after all writes that are recorded by now, since the call
// waits for those of its arrays. Does nothing on a thread without a state of its own: its fences count as unordered.
class WritesSeen {
public:
    WritesSeen() : state_(current_thread_state) {
        if (state_ != nullptr && !is_shared(*state_)) [[likely]] {
            before_ = state_->writes_seen;
            state_->writes_seen = write_changes();
        }
    }
    ~WritesSeen() {
        if (state_ != nullptr && !is_shared(*state_)) [[likely]] {
            state_->writes_seen = before_;
        }
    }
    WritesSeen(const WritesSeen &) = delete;
    WritesSeen &operator=(const WritesSeen &) = delete;

private:
    ThreadState *const state_;
    uint64_t before_ = 0;
};

}  // namespace via
