// Files across fork: the process that created one, and a mutex that a child may lock.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace via {

// The process that created an object. Recognises a forked child as another process, also in a new PID namespace.
class CreatorProcess {
public:
    CreatorProcess();
    bool is_this_process() const;

private:
    const pid_t process_;
    const uint32_t forks_;
};

// A mutex for long waits. A forked child takes it even if a thread of the parent held it, since the child lacks that
// thread. The guarded data must be consistent at every moment. Lock it with std::lock_guard.
class InheritedMutex {
public:
    void lock();
    void unlock();

private:
    std::atomic<uint32_t> holder_{0};  // 1 + fork_count() of the process whose thread holds it; 0: free
};

}  // namespace via
