// Accesses of many storages at once, best if neighbours are not the same.
#pragma once

#include <algorithm>

#include "core/array/access_tracker.hpp"
#include "core/base/list.hpp"

namespace via {

// The ready fences of storages that are looked at one after the other, each fence once. The last few are remembered,
// since storages that are used together tend to have the same ones.
class LastWriteFences {
public:
    LastWriteFences() = default;
    ~LastWriteFences();
    LastWriteFences(const LastWriteFences &) = delete;
    LastWriteFences &operator=(const LastWriteFences &) = delete;

    // Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status look(Storage *storage) {
        const Fence *ready = storage->ready.load(std::memory_order_acquire);
        return ready == nullptr || has_seen(ready) ? VIA_OK : see(last_write_before(storage, {}));
    }

    // Those that have not been reached as one, retained for the caller; nullptr if there are none. Those of `later` are
    // left out, which is what goes on behind them. Ends the look. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status join(const Timeline &later, Fence **out_fence);

private:
    static constexpr int32_t kSeen = 4;

    bool has_seen(const Fence *fence) const { return std::find(seen_, seen_ + kSeen, fence) != seen_ + kSeen; }

    VIA_NODISCARD Status see(Fence *fence) __attribute__((cold));

    const Fence *seen_[kSeen] = {};  // of those that were found
    int32_t next_ = 0;
    List<Fence *> found_;  // owned
};

// As long as this number stays, no storage has been given another ready fence.
uint64_t write_changes();

// The fences that the contents of all of them are ready at, as one, retained for the caller; nullptr if there are none.
// Those of `later` are left out, which is what goes on behind them. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status last_writes(Storage *const *storages, int64_t count, const Timeline &later, Fence **out_fence);

// As set_last_write and add_access, `fence` coming after the ready fences that there were. Retain the fence. All are
// marked even if one cannot be. set_last_writes changes write_changes() by one where no storage is new to fences.
VIA_NODISCARD Status set_last_writes(Storage *const *storages, int64_t count, Fence *fence);

VIA_NODISCARD Status add_accesses(Storage *const *storages, int64_t count, Fence *fence);

}  // namespace via
