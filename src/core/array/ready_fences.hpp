// What many storages are ready at.
#pragma once

#include <algorithm>

#include "core/base/list.hpp"
#include "core/array/access_tracker.hpp"

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

}  // namespace via
