#include "core/base/lock.hpp"

namespace via {
namespace {

// All mutexes of the library. The list grows while the library is loaded, and never changes later.
constinit ForkSafeMutex *all = nullptr;

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
    for (ForkSafeMutex *at = all; at != nullptr; at = at->next_) {
        if (at->in_child_ != nullptr) {
            at->in_child_();
        }
        at->unlock();
    }
}

}  // namespace via
