// Marks of many storages at once: few looks at the lock, few at each mark.
#include <algorithm>
#include <utility>

#include "core/joined_mark.hpp"
#include "core/list.hpp"
#include "core/lock.hpp"
#include "core/order_state.hpp"

namespace via {
namespace {

// Storages that are looked at together with the lock held.
constexpr int64_t kAtOnce = 64;

// What is looked at next is fetched by then: first the storage, then, which takes it, its order.
constexpr int64_t kAhead = 8;

void fetch_ahead(Storage *const *storages, int64_t index, int64_t count) {
    if (index + 2 * kAhead < count) {
        __builtin_prefetch(storages[index + 2 * kAhead]);
        __builtin_prefetch(storages[index + kAhead]->order.load(std::memory_order_relaxed));
    }
}

// The marks of many storages that have not been reached. The last few that were looked at are remembered, since
// storages that are used together tend to have the same ones.
class Pending {
public:
    Pending() = default;
    ~Pending() {
        std::for_each(seen_, seen_ + kSeen, release_one);
        std::for_each(found_.begin(), found_.end(), release_one);
    }
    Pending(const Pending &) = delete;
    Pending &operator=(const Pending &) = delete;

    bool has_seen(Mark *mark) const { return std::find(seen_, seen_ + kSeen, mark) != seen_ + kSeen; }

    // Takes the mark over, which may be nullptr.
    Status see(Mark *mark) {
        release_one(std::exchange(seen_[next_], mark));
        next_ = (next_ + 1) % kSeen;
        if (mark == nullptr || mark->reached()) {
            return VIA_OK;
        }
        if (!found_.append(mark)) {
            return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the marks of many arrays");
        }
        mark->retain();
        return VIA_OK;
    }

    Status join(Mark **out_mark) {
        const int64_t count = found_.count();
        found_.resize(0);
        return join_marks(found_.begin(), static_cast<int32_t>(count), out_mark);
    }

private:
    static constexpr int32_t kSeen = 4;

    static void release_one(Mark *mark) {
        if (mark != nullptr) {
            mark->release();
        }
    }

    Mark *seen_[kSeen] = {};
    int32_t next_ = 0;
    List<Mark *> found_;
};

// Where there is no order yet, and where a list is full, a mark is set as for one storage.
Status replace_some(Storage *const *storages, int64_t count, Mark *mark) {
    Mark *before[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    mark->retain(count);
    {
        const Lock lock(&order_mutex);
        for (int64_t i = 0; i < count; ++i) {
            Order *order = storages[i]->order.load(std::memory_order_acquire);
            before[i] = mark;
            if (order != nullptr) [[likely]] {
                before[i] = order->ready.load(std::memory_order_relaxed);
                order->ready.store(mark, std::memory_order_release);
            } else {
                rest[rests++] = storages[i];
            }
        }
    }
    Released released;
    std::for_each(before, before + count, [&](Mark *gone) { released.add(gone); });
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = set_ready_mark(rest[i], mark);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

// Gives back the mark that it takes the place of, or nullptr. False where there is no room.
bool put_at_once(Order *order, Mark *mark, Mark **out_covered) {
    *out_covered = order != nullptr ? replace_covered(&order->uses, mark) : nullptr;
    if (*out_covered != nullptr) {
        return true;
    }
    if (order == nullptr || !order->uses.has_room()) {
        return false;
    }
    order->uses.append(mark);
    return true;
}

Status add_some(Storage *const *storages, int64_t count, Mark *mark, Released *reached) {
    Mark *covered[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    mark->retain(count);
    {
        const Lock lock(&order_mutex);
        for (int64_t i = 0; i < count; ++i) {
            if (!put_at_once(storages[i]->order.load(std::memory_order_acquire), mark, &covered[i])) {
                rest[rests++] = storages[i];
            }
        }
    }
    {
        Released released;
        std::for_each(covered, covered + count, [&](Mark *gone) { released.add(gone); });
    }
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = add_use(rest[i], mark, reached);
        status = status == VIA_OK ? one : status;
    }
    if (rests > 0) {
        mark->release(rests);
    }
    return status;
}

}  // namespace

uint64_t ready_changes() { return order_changes.load(std::memory_order_acquire); }

Status ready_marks(Storage *const *storages, int64_t count, Mark **out_mark) {
    Pending pending;
    for (int64_t i = 0; i < count; ++i) {
        fetch_ahead(storages, i, count);
        Order *order = storages[i]->order.load(std::memory_order_acquire);
        Mark *ready = order != nullptr ? order->ready.load(std::memory_order_acquire) : nullptr;
        if (ready != nullptr && !pending.has_seen(ready)) [[unlikely]] {
            VIA_TRY(pending.see(retained_ready(order)));
        }
    }
    return pending.join(out_mark);
}

Status set_ready_marks(Storage *const *storages, int64_t count, Mark *mark) {
    order_changes.fetch_add(1, std::memory_order_acq_rel);
    Status status = VIA_OK;
    for (int64_t first = 0; first < count; first += kAtOnce) {
        const Status one = replace_some(storages + first, std::min(kAtOnce, count - first), mark);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

Status add_use_marks(Storage *const *storages, int64_t count, Mark *mark) {
    Released reached;
    Status status = VIA_OK;
    for (int64_t first = 0; first < count; first += kAtOnce) {
        const Status one = add_some(storages + first, std::min(kAtOnce, count - first), mark, &reached);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

}  // namespace via
