#include "file/forked.hpp"

#include <unistd.h>

#include "core/async/task_state.hpp"

namespace via {

CreatorProcess::CreatorProcess() : process_(getpid()), forks_(fork_count()) {}

bool CreatorProcess::is_this_process() const { return process_ == getpid() && forks_ == fork_count(); }

void InheritedMutex::lock() {
    const uint32_t own = fork_count() + 1;
    uint32_t holder = 0;
    while (!holder_.compare_exchange_strong(holder, own, std::memory_order_acquire)) {
        if (holder == own) {
            holder_.wait(own, std::memory_order_relaxed);
            holder = 0;
        }
    }
}

void InheritedMutex::unlock() {
    holder_.store(0, std::memory_order_release);
    holder_.notify_one();
}

}  // namespace via
