// The inside of what a storage knows of work that runs behind. For the files that implement order.hpp.
#pragma once

#include "core/array/access_tracker.hpp"
#include "core/async/reaper.hpp"
#include "core/base/lock.hpp"

namespace via {

// A list that owns its fences.
struct FenceList {
    Fence **items = nullptr;  // with two places more than the capacity, for the storage's own fences at the end
    int32_t count = 0;
    int32_t capacity = 0;

    bool has_room() const { return count < capacity; }
    void append(Fence *fence) { items[count++] = fence; }
};

class AccessTracker {
public:
    FenceList uses;          // older than the storage's newest one
    Fence *ready = nullptr;  // these two from detach_fences on
    Fence *newest = nullptr;
    Fence *few[2] = {};  // from defer_release on: the list where there were no older uses
    Deleter deleter{};
    DeferredCallback deferred{};
};

// Of all storages: held for a few instructions only, and never while a fence is asked anything.
extern ForkSafeMutex access_mutex;

// Counts the ready fences that have been set.
extern std::atomic<uint64_t> write_change_count;

// Fences that are let go of one after the other: as long as it is the same one, its owners are counted first.
class Released {
public:
    Released() = default;
    ~Released() { flush(); }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

    // Takes it over; nullptr is none.
    void add(Fence *fence) {
        if (fence != fence_) {
            flush();
            fence_ = fence;
        }
        ++owners_;
    }

    // Whether it is the one that was added last.
    bool holds(Fence *fence) const { return fence == fence_; }

private:
    void flush() {
        if (fence_ != nullptr) {
            fence_->release(owners_);
        }
        owners_ = 0;
    }

    Fence *fence_ = nullptr;
    int64_t owners_ = 0;
};

// Takes the fence over as the newest use. A stream that uses an array again and again is remembered once: *out_covered
// is the one whose place it takes, the caller's then, or nullptr. False, and nothing is taken, where there is no room.
// The storage has an order. With the lock held.
VIA_NODISCARD bool put_access(Storage *storage, Fence *fence, Fence **out_covered);

// The ready fence, reached or not; retained for the caller.
Fence *retained_last_write(Storage *storage);

// add_access; what of older fences has been reached goes to `reached`.
VIA_NODISCARD Status put_access_or_wait(Storage *storage, Fence *fence, Released *reached);

}  // namespace via
