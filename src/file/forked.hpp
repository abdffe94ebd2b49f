// What files need over fork: who made what, and a mutex that a child may lock.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace via {

// The process that made something. A child of fork is another one, in a PID namespace of its own too.
class Maker {
public:
    Maker();
    bool is_this_process() const;

private:
    const pid_t process_;
    const uint32_t forks_;
};

// A mutex for long waits, which a child of fork takes over where a thread of its parent held it: the child lacks that
// thread. What it guards must be whole at every moment. Works with std::lock_guard.
class InheritedMutex {
public:
    void lock();
    void unlock();

private:
    std::atomic<uint32_t> holder_{0};  // 1 + fork_count() of the process whose thread holds it; 0: free
};

}  // namespace via
