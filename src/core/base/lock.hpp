// Mutexes and processes across fork, and deadlines for conditions.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace via {

// A mutex of static storage duration, held for a few instructions at a time. Lock it with std::lock_guard. fork waits
// until no thread holds any of them: a child finds each one free, and its data consistent. Never hold two at a time,
// and never call the caller's or the driver's functions with one held.
//
// Other mutexes are std::mutex. Those of src/cuda are held while the driver works; a child gets VIA_ERROR_FORKED from
// need_driver before it reaches any of them. Those of one transfer exist in no child. Function-local statics are not
// used, since a child would wait for one that is being initialised; std::call_once starts again in a child.
class ForkSafeMutex {
public:
    // `in_child` runs in a forked child before the mutex is unlocked. Use it to forget the parent's threads.
    explicit ForkSafeMutex(void (*in_child)() = nullptr) noexcept;
    ForkSafeMutex(const ForkSafeMutex &) = delete;
    ForkSafeMutex &operator=(const ForkSafeMutex &) = delete;

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

    // For pthread conditions.
    pthread_mutex_t *native() noexcept { return &mutex_; }

private:
    static void lock_all() noexcept;
    static void unlock_all() noexcept;
    static void unlock_all_in_child() noexcept;

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    void (*const in_child_)();
    ForkSafeMutex *const next_;
};

// Counts the forks of this process and its ancestors.
uint32_t fork_count();

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

// The time in so long, for pthread_cond_clockwait with CLOCK_MONOTONIC, which std::chrono::steady_clock reads.
inline timespec deadline_in(std::chrono::nanoseconds duration) {
    const std::chrono::nanoseconds until = std::chrono::steady_clock::now().time_since_epoch() + duration;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(until);
    return {static_cast<time_t>(seconds.count()), static_cast<long>((until - seconds).count())};
}

}  // namespace via
