// Mutexes that fork leaves in order.
#pragma once

#include <pthread.h>

#include <mutex>

namespace via {

// A mutex of static storage duration, for a few instructions at a time: std::lock_guard takes it. fork waits until
// nobody holds any of them, so a child finds each free, and what it guards whole. Never hold two at a time, and call
// nothing of the caller's or the driver's with one held.
//
// Others are std::mutex. Those of src/cuda are held while the driver works: a child of a process that used it gets
// VIA_ERROR_FORKED from need_driver before it comes to any of them. Those of one transfer no child has. Function-local
// statics are not used, since a child would wait for one that is being made; std::call_once begins anew in a child.
class ForkSafeMutex {
public:
    // `in_child` runs in a child before the mutex is free again: it forgets the threads that the child lacks.
    explicit ForkSafeMutex(void (*in_child)() = nullptr) noexcept;
    ForkSafeMutex(const ForkSafeMutex &) = delete;
    ForkSafeMutex &operator=(const ForkSafeMutex &) = delete;

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

    // For a condition to wait with.
    pthread_mutex_t *native() noexcept { return &mutex_; }

private:
    static void lock_all() noexcept;
    static void unlock_all() noexcept;
    static void unlock_all_in_child() noexcept;

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    void (*const in_child_)();
    ForkSafeMutex *const next_;
};

}  // namespace via
