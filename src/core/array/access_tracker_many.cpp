#include <algorithm>
#include <utility>

#include "core/array/access_tracker_many.hpp"
#include "core/array/access_tracker_state.hpp"
#include "core/async/fence.hpp"

namespace via {
namespace {

// Storages handled while the lock is held once.
constexpr int64_t kAtOnce = 64;

// Prefetches a storage that comes soon. `left` storages remain.
void prefetch(Storage *const *storages, int64_t left) {
    constexpr int64_t kAhead = 16;
    if (kAhead < left) [[likely]] {
        __builtin_prefetch(&storages[kAhead]->last_write);
    }
}

// Storages that receive a fence now, of those that still need it.
struct Chunk {
    Storage *const *storages;
    int64_t left;

    int64_t count() const { return std::min(kAtOnce, left); }
    Chunk next() const { return {storages + count(), left - count()}; }
};

// Falls back to set_last_write for storages without tracker, and after a write that may be later.
Status set_some(const Chunk &chunk, Fence *fence) {
    Fence *before[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = chunk.count();
    fence->retain(count);
    {
        const std::lock_guard lock(access_mutex);
        fence->note_recorded(UINT64_MAX);  // until all of these have it; a chunk before may have had it numbered
        for (int64_t i = 0; i < count; ++i) {
            prefetch(chunk.storages + i, chunk.left - i);
            Storage *storage = chunk.storages[i];
            before[i] = storage->last_write.load(std::memory_order_relaxed);
            const bool is_tracked = before[i] != nullptr || storage->tracker.load(std::memory_order_acquire) != nullptr;
            if (is_tracked && is_after_last_write(before[i], *fence)) [[likely]] {
                storage->last_write.store(fence, std::memory_order_release);
            } else {
                before[i] = fence;
                rest[rests++] = storage;
            }
        }
    }
    FenceReleaser releaser;
    std::for_each(before, before + count, [&](Fence *old) { releaser.add(old); });
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = set_last_write(rest[i], fence);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

// Does the same as put_access; returns false also without a tracker. `known` is a fence that this one replaced before:
// neighbours tend to have the same last access.
bool put_quickly(Storage *storage, Fence *fence, Fence *known, Fence **out_replaced) {
    *out_replaced = nullptr;
    if (known != nullptr && storage->last_access == known) [[likely]] {
        *out_replaced = std::exchange(storage->last_access, fence);
        return true;
    }
    return storage->tracker.load(std::memory_order_acquire) != nullptr && put_access(storage, fence, out_replaced);
}

// Falls back to put_access_or_wait for storages without tracker or with a full list.
Status add_some(const Chunk &chunk, Fence *fence, FenceReleaser *completed) {
    Fence *replaced[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = chunk.count();
    fence->retain(count);
    {
        const std::lock_guard lock(access_mutex);
        Fence *known = nullptr;
        for (int64_t i = 0; i < count; ++i) {
            Storage *storage = chunk.storages[i];
            prefetch(chunk.storages + i, chunk.left - i);
            if (!put_quickly(storage, fence, known, &replaced[i])) {
                rest[rests++] = storage;
            }
            known = replaced[i] != nullptr ? replaced[i] : known;
        }
    }
    {
        FenceReleaser releaser;
        std::for_each(replaced, replaced + count, [&](Fence *old) { releaser.add(old); });
    }
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        const Status one = put_access_or_wait(rest[i], fence, completed);
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
    std::for_each(fences_.begin(), fences_.end(), [](Fence *fence) { fence->release(); });
}

// Consumes a reference; ignores nullptr.
Status LastWriteFences::append(Fence *fence) {
    if (fence == nullptr) {
        return VIA_OK;
    }
    if (!fences_.append(fence)) {
        fence->release();
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a list of %lld fences", as_printed(fences_.count() + 1));
    }
    recent_[next_] = fence;
    next_ = (next_ + 1) % kRecent;
    return VIA_OK;
}

Status LastWriteFences::join(const Timeline &later, Fence **out_fence) {
    const auto is_before = [&](Fence *fence) { return fence->is_of(later) || fence->is_complete(); };
    // Partitions by state, not by address. NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order)
    Fence **end = std::partition(fences_.begin(), fences_.end(), [&](Fence *fence) { return !is_before(fence); });
    std::for_each(end, fences_.end(), [](Fence *fence) { fence->release(); });
    fences_.resize(0);
    return join_fences(fences_.begin(), static_cast<int32_t>(end - fences_.begin()), out_fence);
}

Status last_writes(Storage *const *storages, int64_t count, const Timeline &later, Fence **out_fence) {
    LastWriteFences found;
    for (int64_t i = 0; i < count; ++i) {
        prefetch(storages + i, count - i);
        VIA_TRY(found.add(storages[i]));
    }
    return found.join(later, out_fence);
}

Status set_last_writes(Storage *const *storages, int64_t count, Fence *fence) {
    Status status = VIA_OK;
    for (Chunk chunk{storages, count}; chunk.left > 0; chunk = chunk.next()) {
        const Status one = set_some(chunk, fence);
        status = status == VIA_OK ? one : status;
    }
    // After the stores: a thread that has read an older fence sees the number change.
    number_write(fence);
    return status;
}

Status add_accesses(Storage *const *storages, int64_t count, Fence *fence) {
    FenceReleaser completed;
    Status status = VIA_OK;
    for (Chunk chunk{storages, count}; chunk.left > 0; chunk = chunk.next()) {
        const Status one = add_some(chunk, fence, &completed);
        status = status == VIA_OK ? one : status;
    }
    return status;
}

}  // namespace via
