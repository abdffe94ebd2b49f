// Marks of many storages at once: few looks at the lock, few at each mark.
#include <algorithm>
#include <utility>

#include "core/async/joined_fence.hpp"
#include "core/base/lock.hpp"
#include "core/array/access_tracker_state.hpp"
#include "core/array/ready_fences.hpp"

namespace via {
namespace {

// Storages that are looked at together with the lock held.
constexpr int64_t kAtOnce = 64;

// What is looked at next is fetched by then. `left` of the storages are still to be looked at.
void fetch_ahead(Storage *const *storages, int64_t left) {
    constexpr int64_t kAhead = 16;
    if (kAhead < left) [[likely]] {
        __builtin_prefetch(&storages[kAhead]->ready);
    }
}

// The storages that are given a mark now, of those that are still to be given it.
struct Part {
    Storage *const *storages;
    int64_t left;

    int64_t count() const { return std::min(kAtOnce, left); }
    Part next() const { return {storages + count(), left - count()}; }
};

// Where there is no order yet, and where a list is full, a mark is set as for one storage.
Status replace_some(const Part &part, Mark *mark) {
    Mark *before[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = part.count();
    mark->retain(count);
    {
        const std::lock_guard lock(order_mutex);
        for (int64_t i = 0; i < count; ++i) {
            fetch_ahead(part.storages + i, part.left - i);
            Storage *storage = part.storages[i];
            before[i] = storage->ready.load(std::memory_order_relaxed);
            if (before[i] != nullptr || storage->order.load(std::memory_order_acquire) != nullptr) [[likely]] {
                storage->ready.store(mark, std::memory_order_release);
            } else {
                before[i] = mark;
                rest[rests++] = storage;
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

// As put_use, where there may be no order; false then. `known` is a mark that this one covers, which neighbours tend to
// have as their newest one.
bool put_at_once(Storage *storage, Mark *mark, Mark *known, Mark **out_covered) {
    *out_covered = nullptr;
    if (known != nullptr && storage->newest_use == known) [[likely]] {
        *out_covered = std::exchange(storage->newest_use, mark);
        return true;
    }
    return storage->order.load(std::memory_order_acquire) != nullptr && put_use(storage, mark, out_covered);
}

Status add_some(const Part &part, Mark *mark, Released *reached) {
    Mark *covered[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = part.count();
    mark->retain(count);
    {
        const std::lock_guard lock(order_mutex);
        Mark *known = nullptr;
        for (int64_t i = 0; i < count; ++i) {
            Storage *storage = part.storages[i];
            fetch_ahead(part.storages + i, part.left - i);
            if (!put_at_once(storage, mark, known, &covered[i])) {
                rest[rests++] = storage;
            }
            known = covered[i] != nullptr ? covered[i] : known;
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

ReadyMarks::~ReadyMarks() {
    std::for_each(found_.begin(), found_.end(), [](Mark *mark) { mark->release(); });
}

// Takes the mark over, which may be nullptr.
Status ReadyMarks::see(Mark *mark) {
    if (mark == nullptr) {
        return VIA_OK;
    }
    if (!found_.append(mark)) {
        mark->release();
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the marks of many arrays");
    }
    seen_[next_] = mark;
    next_ = (next_ + 1) % kSeen;
    return VIA_OK;
}

Status ReadyMarks::join(const Timeline &later, Mark **out_mark) {
    const auto is_before = [&](Mark *mark) { return mark->is_of(later) || mark->reached(); };
    // By what they are: where they lie has no say. NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order)
    Mark **end = std::partition(found_.begin(), found_.end(), [&](Mark *mark) { return !is_before(mark); });
    std::for_each(end, found_.end(), [](Mark *mark) { mark->release(); });
    found_.resize(0);
    return join_marks(found_.begin(), static_cast<int32_t>(end - found_.begin()), out_mark);
}

Status ready_marks(Storage *const *storages, int64_t count, const Timeline &later, Mark **out_mark) {
    ReadyMarks found;
    for (int64_t i = 0; i < count; ++i) {
        fetch_ahead(storages + i, count - i);
        VIA_TRY(found.look(storages[i]));
    }
    return found.join(later, out_mark);
}

Status set_ready_marks(Storage *const *storages, int64_t count, Mark *mark) {
    Status status = VIA_OK;
    for (Part part{storages, count}; part.left > 0; part = part.next()) {
        const Status one = replace_some(part, mark);
        status = status == VIA_OK ? one : status;
    }
    // Behind the stores: whoever has read an older mark sees the number change.
    order_changes.fetch_add(1, std::memory_order_release);
    return status;
}

Status add_use_marks(Storage *const *storages, int64_t count, Mark *mark) {
    Released reached;
    Status status = VIA_OK;
    for (Part part{storages, count}; part.left > 0; part = part.next()) {
        const Status one = add_some(part, mark, &reached);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

}  // namespace via
