#include "core/base/lock.hpp"

#include <unistd.h>

namespace via {
namespace {

// All mutexes of the library. The list grows while the library is loaded, and never changes later.
constinit ForkSafeMutex *all = nullptr;

constinit std::atomic<uint32_t> forks{0};

}  // namespace

// Registers one fork handler for all mutexes, with the first of them.
ForkSafeMutex::ForkSafeMutex(void (*in_child)()) noexcept : in_child_(in_child), next_(all) {
    if (all == nullptr) {
        (void)pthread_atfork(lock_all, unlock_all, unlock_all_in_child);
    }
    all = this;
}

void ForkSafeMutex::lock_all() noexcept {
    for (ForkSafeMutex *at = all; at != nullptr; at = at->next_) {
        at->lock();
    }
}

void ForkSafeMutex::unlock_all() noexcept {
    for (ForkSafeMutex *at = all; at != nullptr; at = at->next_) {
        at->unlock();
    }
}

void ForkSafeMutex::unlock_all_in_child() noexcept {
    forks.fetch_add(1, std::memory_order_relaxed);
    for (ForkSafeMutex *at = all; at != nullptr; at = at->next_) {
        if (at->in_child_ != nullptr) {
            at->in_child_();
        }
        at->unlock();
    }
}

uint32_t fork_count() { return forks.load(std::memory_order_relaxed); }

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
    holder_.store(0);  // notify_one looks for waiters, and must not do so before the store
    holder_.notify_one();
}

}  // namespace via
