// Tracks the accesses of many storages at once. Works fastest if neighbours are different storages.
#pragma once

#include <algorithm>

#include "core/array/access_tracker.hpp"
#include "core/base/list.hpp"

namespace via {

// Collects the fences of the last writes of many storages, each fence once. Remembers the last few fences, since
// storages that are used together tend to share them.
class LastWriteFences {
public:
    LastWriteFences() = default;
    ~LastWriteFences();
    LastWriteFences(const LastWriteFences &) = delete;
    LastWriteFences &operator=(const LastWriteFences &) = delete;

    // Adds a storage's last write. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status add(Storage *storage) {
        const Fence *fence = storage->last_write.load(std::memory_order_acquire);
        return fence == nullptr || is_recent(fence) ? VIA_OK : append(last_write_before(storage, {}));
    }

    // Joins the pending fences to one, retained for the caller; nullptr if there are none. Leaves out those of the
    // timeline `later`, whose work runs after them anyway. Empties the collection. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status join(const Timeline &later, Fence **out_fence);

private:
    static constexpr int32_t kRecent = 4;

    bool is_recent(const Fence *fence) const {
        return std::find(recent_, recent_ + kRecent, fence) != recent_ + kRecent;
    }

    VIA_NODISCARD Status append(Fence *fence) __attribute__((cold));

    const Fence *recent_[kRecent] = {};
    int32_t next_ = 0;
    List<Fence *> fences_;  // owned
};

// Returns a number that changes with every recorded write.
uint64_t write_changes();

// Joins the pending last writes of all storages to one fence, retained for the caller; nullptr if there are none.
// Leaves out those of the timeline `later`, whose work runs after them anyway. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status last_writes(Storage *const *storages, int64_t count, const Timeline &later, Fence **out_fence);

// Records a write or an access of many storages, as set_last_write and add_access do. `fence` must be reached after
// their last writes. Retains the fence. Goes on with the other storages if one fails. Adds one to write_changes() if
// every storage has a tracker already.
VIA_NODISCARD Status set_last_writes(Storage *const *storages, int64_t count, Fence *fence);

VIA_NODISCARD Status add_accesses(Storage *const *storages, int64_t count, Fence *fence);

}  // namespace via
