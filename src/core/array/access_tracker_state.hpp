// State of the access tracker, for the files that implement access_tracker.hpp and access_tracker_many.hpp.
#pragma once

#include "core/array/access_tracker.hpp"
#include "core/async/reaper.hpp"
#include "core/base/lock.hpp"

namespace via {

// Owns its fences.
struct FenceList {
    Fence **items = nullptr;  // room for two beyond the capacity: the inline fences of the storage, at its release
    int32_t count = 0;
    int32_t capacity = 0;

    bool has_room() const { return count < capacity; }
    void append(Fence *fence) { items[count++] = fence; }
};

class AccessTracker {
public:
    FenceList older_accesses;     // before the storage's last access
    Fence *last_write = nullptr;  // from detach_fences on, and the next one too
    Fence *last_access = nullptr;
    Fence *inline_fences[2] = {};  // from defer_release on: the list if there were no older accesses
    Deleter deleter{};
    DeferredCallback deferred{};
};

// Guards the fences of all storages. Held for a few instructions, never while a fence is queried or released.
extern ForkSafeMutex access_mutex;

// Counts recorded writes.
extern std::atomic<uint64_t> write_change_count;

// Counts a write, and gives its fence the number. Call it once the storages have the fence.
void number_write(Fence *fence);

// Releases fences one after the other, with one atomic operation for a run of equal ones.
class FenceReleaser {
public:
    FenceReleaser() = default;
    ~FenceReleaser() { flush(); }
    FenceReleaser(const FenceReleaser &) = delete;
    FenceReleaser &operator=(const FenceReleaser &) = delete;

    // Consumes a reference; ignores nullptr.
    void add(Fence *fence) {
        if (fence != fence_) {
            flush();
            fence_ = fence;
        }
        ++owners_;
    }

    // Returns whether this fence was added last.
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

// Returns whether the fence may replace that of the last write, which may be nullptr.
inline bool is_after_last_write(const Fence *last, const Fence &fence) {
    return last == nullptr || last == &fence || fence.is_ordered_after(*last);
}

// Makes the fence the last access and consumes a reference to it. Stores the fence that it replaces, which the caller
// then owns, or nullptr. Returns false and consumes nothing if the list is full. Call it with access_mutex held, for a
// storage that has a tracker.
VIA_NODISCARD bool put_access(Storage *storage, Fence *fence, Fence **out_replaced);

// Does the same as add_access; completed older fences go to `completed`.
VIA_NODISCARD Status put_access_or_wait(Storage *storage, Fence *fence, FenceReleaser *completed);

}  // namespace via
