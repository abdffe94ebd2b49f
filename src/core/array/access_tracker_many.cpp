// Fences of many storages at once: few looks at the lock, few at each fence.
#include <algorithm>
#include <utility>

#include "core/array/access_tracker_many.hpp"
#include "core/array/access_tracker_state.hpp"
#include "core/async/joined_fence.hpp"
#include "core/base/lock.hpp"

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

// The storages that are given a fence now, of those that are still to be given it.
struct Part {
    Storage *const *storages;
    int64_t left;

    int64_t count() const { return std::min(kAtOnce, left); }
    Part next() const { return {storages + count(), left - count()}; }
};

// Where there is no order yet, and where a list is full, a fence is set as for one storage.
Status replace_some(const Part &part, Fence *fence) {
    Fence *before[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = part.count();
    fence->retain(count);
    {
        const std::lock_guard lock(access_mutex);
        for (int64_t i = 0; i < count; ++i) {
            fetch_ahead(part.storages + i, part.left - i);
            Storage *storage = part.storages[i];
            before[i] = storage->ready.load(std::memory_order_relaxed);
            if (before[i] != nullptr || storage->tracker.load(std::memory_order_acquire) != nullptr) [[likely]] {
                storage->ready.store(fence, std::memory_order_release);
            } else {
                before[i] = fence;
                rest[rests++] = storage;
            }
        }
    }
    Released released;
    std::for_each(before, before + count, [&](Fence *gone) { released.add(gone); });
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = set_last_write(rest[i], fence);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

// As put_access, where there may be no order; false then. `known` is a fence that this one covers, which neighbours
// tend to have as their newest one.
bool put_at_once(Storage *storage, Fence *fence, Fence *known, Fence **out_covered) {
    *out_covered = nullptr;
    if (known != nullptr && storage->newest_access == known) [[likely]] {
        *out_covered = std::exchange(storage->newest_access, fence);
        return true;
    }
    return storage->tracker.load(std::memory_order_acquire) != nullptr && put_access(storage, fence, out_covered);
}

Status add_some(const Part &part, Fence *fence, Released *reached) {
    Fence *covered[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = part.count();
    fence->retain(count);
    {
        const std::lock_guard lock(access_mutex);
        Fence *known = nullptr;
        for (int64_t i = 0; i < count; ++i) {
            Storage *storage = part.storages[i];
            fetch_ahead(part.storages + i, part.left - i);
            if (!put_at_once(storage, fence, known, &covered[i])) {
                rest[rests++] = storage;
            }
            known = covered[i] != nullptr ? covered[i] : known;
        }
    }
    {
        Released released;
        std::for_each(covered, covered + count, [&](Fence *gone) { released.add(gone); });
    }
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = put_access_or_wait(rest[i], fence, reached);
        status = status == VIA_OK ? one : status;
    }
    if (rests > 0) {
        fence->release(rests);
    }
    return status;
}

}  // namespace

uint64_t write_changes() { return write_change_count.load(std::memory_order_acquire); }

LastWriteFences::~LastWriteFences() {
    std::for_each(found_.begin(), found_.end(), [](Fence *fence) { fence->release(); });
}

// Takes the fence over, which may be nullptr.
Status LastWriteFences::see(Fence *fence) {
    if (fence == nullptr) {
        return VIA_OK;
    }
    if (!found_.append(fence)) {
        fence->release();
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for the fences of many arrays");
    }
    seen_[next_] = fence;
    next_ = (next_ + 1) % kSeen;
    return VIA_OK;
}

Status LastWriteFences::join(const Timeline &later, Fence **out_fence) {
    const auto is_before = [&](Fence *fence) { return fence->is_of(later) || fence->is_complete(); };
    // By what they are: where they lie has no say. NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order)
    Fence **end = std::partition(found_.begin(), found_.end(), [&](Fence *fence) { return !is_before(fence); });
    std::for_each(end, found_.end(), [](Fence *fence) { fence->release(); });
    found_.resize(0);
    return join_fences(found_.begin(), static_cast<int32_t>(end - found_.begin()), out_fence);
}

Status last_writes(Storage *const *storages, int64_t count, const Timeline &later, Fence **out_fence) {
    LastWriteFences found;
    for (int64_t i = 0; i < count; ++i) {
        fetch_ahead(storages + i, count - i);
        VIA_TRY(found.look(storages[i]));
    }
    return found.join(later, out_fence);
}

Status set_last_writes(Storage *const *storages, int64_t count, Fence *fence) {
    Status status = VIA_OK;
    for (Part part{storages, count}; part.left > 0; part = part.next()) {
        const Status one = replace_some(part, fence);
        status = status == VIA_OK ? one : status;
    }
    // Behind the stores: whoever has read an older fence sees the number change.
    write_change_count.fetch_add(1, std::memory_order_release);
    return status;
}

Status add_accesses(Storage *const *storages, int64_t count, Fence *fence) {
    Released reached;
    Status status = VIA_OK;
    for (Part part{storages, count}; part.left > 0; part = part.next()) {
        const Status one = add_some(part, fence, &reached);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

}  // namespace via
