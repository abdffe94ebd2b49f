// What many storages are ready at.
#pragma once

#include <algorithm>

#include "core/base/list.hpp"
#include "core/array/access_tracker.hpp"

namespace via {

// The ready marks of storages that are looked at one after the other, each mark once. The last few are remembered,
// since storages that are used together tend to have the same ones.
class ReadyMarks {
public:
    ReadyMarks() = default;
    ~ReadyMarks();
    ReadyMarks(const ReadyMarks &) = delete;
    ReadyMarks &operator=(const ReadyMarks &) = delete;

    // Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status look(Storage *storage) {
        const Mark *ready = storage->ready.load(std::memory_order_acquire);
        return ready == nullptr || has_seen(ready) ? VIA_OK : see(ready_mark_before(storage, {}));
    }

    // Those that have not been reached as one, retained for the caller; nullptr if there are none. Those of `later` are
    // left out, which is what goes on behind them. Ends the look. Errors: VIA_ERROR_OUT_OF_MEMORY.
    VIA_NODISCARD Status join(const Timeline &later, Mark **out_mark);

private:
    static constexpr int32_t kSeen = 4;

    bool has_seen(const Mark *mark) const { return std::find(seen_, seen_ + kSeen, mark) != seen_ + kSeen; }

    VIA_NODISCARD Status see(Mark *mark) __attribute__((cold));

    const Mark *seen_[kSeen] = {};  // of those that were found
    int32_t next_ = 0;
    List<Mark *> found_;  // owned
};

}  // namespace via
