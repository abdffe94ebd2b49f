#include "core/array/access_tracker.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "core/array/access_tracker_many.hpp"
#include "core/array/access_tracker_state.hpp"
#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"

namespace via {

ForkSafeMutex access_mutex;
constinit std::atomic<uint64_t> write_change_count{0};

void number_write(Fence *fence) {
    fence->note_recorded(write_change_count.fetch_add(1, std::memory_order_acq_rel) + 1);
}

namespace {

// Allocates the tracker if there is none yet; false without memory.
bool ensure_tracker(Storage *storage) {
    AccessTracker *tracker = storage->tracker.load(std::memory_order_acquire);
    if (tracker != nullptr) [[likely]] {
        return true;
    }
    auto *made = new (std::nothrow) AccessTracker;
    if (made != nullptr && !storage->tracker.compare_exchange_strong(tracker, made, std::memory_order_acq_rel)) {
        delete made;
    }
    return made != nullptr || tracker != nullptr;
}

void drop_completed(FenceList *fences, FenceReleaser *completed) {
    Fence **end = std::remove_if(fences->items, fences->items + fences->count, [&](Fence *fence) {
        const bool is_complete = completed->holds(fence) || fence->is_complete();
        if (is_complete) {
            completed->add(fence);
        }
        return is_complete;
    });
    fences->count = static_cast<int32_t>(end - fences->items);
}

// Leaves half of the list free, so that most accesses query no fence.
bool make_room(FenceList *fences) {
    if (fences->count * 2 < fences->capacity) {
        return true;
    }
    const int32_t capacity = std::max(8, fences->capacity * 2);
    void *grown = std::realloc(fences->items, static_cast<size_t>(capacity + 2) * sizeof(Fence *));
    if (grown != nullptr) {
        fences->items = static_cast<Fence **>(grown);
        fences->capacity = capacity;
    }
    return fences->has_room();
}

// Does the same as put_access; moves a full list out of the storage.
bool put_or_extract_list(Storage *storage, Fence *fence, Fence **out_replaced, FenceList *out_full) {
    const std::lock_guard lock(access_mutex);
    if (put_access(storage, fence, out_replaced)) {
        return true;
    }
    *out_full = std::exchange(storage->tracker.load(std::memory_order_relaxed)->older_accesses, FenceList{});
    return false;
}

void swap_older_accesses(Storage *storage, FenceList *fences) {
    const std::lock_guard lock(access_mutex);
    std::swap(storage->tracker.load(std::memory_order_relaxed)->older_accesses, *fences);
}

// Waits for a fence that no memory is left to remember. Polls a fence that refuses to be waited for here.
Status block_until_complete(Fence *fence) {
    const Status status = fence->wait();
    while (!fence->is_complete()) {
        std::this_thread::yield();
    }
    return status;
}

// Consumes a reference to the fence. Cleans a full list while no other thread sees it. Accesses recorded meanwhile are
// in the list that is swapped out afterwards, and are put again the same way.
Status put(Storage *storage, Fence *fence, FenceReleaser *completed) {
    FenceList list;
    Fence *replaced = nullptr;
    if (put_or_extract_list(storage, fence, &replaced, &list)) {
        if (replaced != nullptr) {
            replaced->release();
        }
        return VIA_OK;
    }
    drop_completed(&list, completed);
    Status status = VIA_OK;
    if (make_room(&list)) {
        list.append(fence);
    } else {
        status = block_until_complete(fence);
        fence->release();
    }
    swap_older_accesses(storage, &list);
    for (int32_t i = 0; i < list.count; ++i) {
        const Status other = put(storage, list.items[i], completed);
        status = status == VIA_OK ? other : status;
    }
    std::free(list.items);
    return status;
}

// Replaces the fence of the last write by `fence`, whose reference it consumes, if it is still `expected`.
bool replace_last_write(Storage *storage, Fence *fence, Fence *expected) {
    {
        const std::lock_guard lock(access_mutex);
        if (storage->last_write.load(std::memory_order_relaxed) != expected) {
            return false;
        }
        storage->last_write.store(fence, std::memory_order_release);
        if (fence != nullptr) {
            number_write(fence);
        }
    }
    if (expected != nullptr) {
        expected->release();
    }
    return true;
}

Fence *retained_last_write(Storage *storage) {
    const std::lock_guard lock(access_mutex);
    return retained(storage->last_write.load(std::memory_order_relaxed));
}

// Makes the fence the last write. Joins it to one that it does not come after. Without memory to join them, waits for
// both.
Status put_last_write(Storage *storage, Fence *fence) {
    while (true) {
        const UniqueFence before(retained_last_write(storage));
        UniqueFence both;
        Status status = VIA_OK;
        if (is_after_last_write(before.get(), *fence)) {
            *both.out() = retained(fence);
        } else {
            status = join_writes(before.get(), fence, both.out());
        }
        if (replace_last_write(storage, both.get(), before.get())) {
            fence->note_recorded(write_changes());
            (void)both.release();
            return status;
        }
    }
}

// Records a write and its access under one lock. Returns false and changes nothing without a tracker or room for it,
// and after a write that may be later.
bool put_write(Storage *storage, Fence *fence) {
    if (storage->tracker.load(std::memory_order_acquire) == nullptr) {
        return false;
    }
    Fence *replaced = nullptr;
    Fence *before = nullptr;
    {
        const std::lock_guard lock(access_mutex);
        if (!is_after_last_write(storage->last_write.load(std::memory_order_relaxed), *fence) ||
            !put_access(storage, fence, &replaced)) {
            return false;
        }
        fence->retain(2);
        before = storage->last_write.exchange(fence, std::memory_order_release);
        number_write(fence);
    }
    FenceReleaser releaser;
    releaser.add(replaced);
    releaser.add(before);
    return true;
}

bool is_covered(const FenceList &fences, Fence *fence) {
    return std::any_of(fences.items, fences.items + fences.count,
                       [=](Fence *other) { return other == fence || other->happens_after(*fence); });
}

// Appends the fence unless it has completed or another one covers it. Consumes a reference; ignores nullptr.
void append_pending(FenceList *fences, Fence *fence) {
    const UniqueFence holder(fence);
    if (fence != nullptr && !is_covered(*fences, fence) && !fence->is_complete()) {
        fence->retain();
        fences->append(fence);
    }
}

// Collects the pending fences in older_accesses. No other thread uses the tracker any more.
void collect_pending(AccessTracker *tracker) {
    FenceReleaser completed;
    FenceList &fences = tracker->older_accesses;
    drop_completed(&fences, &completed);
    fences.items = fences.items != nullptr ? fences.items : tracker->inline_fences;
    append_pending(&fences, std::exchange(tracker->last_access, nullptr));
    append_pending(&fences, std::exchange(tracker->last_write, nullptr));
}

// Returns whether the device frees the memory in stream order; no host thread then waits for the fences.
bool free_after(const Deleter &deleter, Fence **fences, int32_t count) {
    if (deleter.free_after == nullptr || !deleter.free_after(deleter, fences, count)) {
        return false;
    }
    std::for_each(fences, fences + count, [](Fence *fence) { fence->release(); });
    return true;
}

void end_tracker(AccessTracker *tracker) {
    const Deleter deleter = tracker->deleter;
    if (tracker->older_accesses.items != tracker->inline_fences) {
        std::free(tracker->older_accesses.items);
    }
    delete tracker;
    run_deleter(deleter);
}

void release_pending(DeferredCallback *deferred) {
    count(Counter::PendingReleases, -1);
    end_tracker(
        reinterpret_cast<AccessTracker *>(reinterpret_cast<char *>(deferred) - offsetof(AccessTracker, deferred)));
}

// Searches the last few fences only, for the sake of speed. Returns nullptr if none is reached before `fence`.
Fence **find_replaceable(const FenceList &fences, const Fence &fence) {
    constexpr int32_t kLooks = 4;
    for (int32_t i = fences.count - 1; i >= 0 && i >= fences.count - kLooks; --i) {
        if (fence.happens_after(*fences.items[i])) {
            return &fences.items[i];
        }
    }
    return nullptr;
}

}  // namespace

bool put_access(Storage *storage, Fence *fence, Fence **out_replaced) {
    Fence *last = storage->last_access;
    if (last == nullptr || last == fence || fence->happens_after(*last)) [[likely]] {
        *out_replaced = std::exchange(storage->last_access, fence);
        return true;
    }
    FenceList &older = storage->tracker.load(std::memory_order_relaxed)->older_accesses;
    Fence **replaceable = find_replaceable(older, *fence);
    *out_replaced = replaceable != nullptr ? std::exchange(*replaceable, last) : nullptr;
    if (replaceable == nullptr) {
        if (!older.has_room()) {
            return false;
        }
        older.append(last);
    }
    storage->last_access = fence;
    return true;
}

Status put_access_or_wait(Storage *storage, Fence *fence, FenceReleaser *completed) {
    if (!ensure_tracker(storage)) {
        return block_until_complete(fence);
    }
    fence->retain();
    return put(storage, fence, completed);
}

Fence *last_write(Storage *storage) {
    Fence *fence = last_write_before(storage, {});
    if (fence == nullptr || !fence->is_complete() || fence->has_failed()) {
        return fence;
    }
    (void)replace_last_write(storage, nullptr, fence);
    fence->release();
    return nullptr;
}

Fence *last_write_before(Storage *storage, const Timeline &later) {
    if (storage->last_write.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(access_mutex);
    Fence *fence = storage->last_write.load(std::memory_order_relaxed);
    if (fence == nullptr || fence->is_of(later)) {
        return nullptr;
    }
    fence->retain();
    return fence;
}

Status set_last_write(Storage *storage, Fence *fence) {
    if (put_write(storage, fence)) [[likely]] {
        return VIA_OK;
    }
    VIA_TRY(add_access(storage, fence));
    const bool is_tracked = storage->tracker.load(std::memory_order_acquire) != nullptr;
    return is_tracked ? put_last_write(storage, fence) : VIA_OK;
}

Status set_last_copy(via_array *dst, std::initializer_list<via_array *> srcs, Fence *fence) {
    VIA_TRY(set_last_write(dst->storage, fence));
    for (via_array *src : srcs) {
        VIA_TRY(src != nullptr && src->storage != dst->storage ? add_access(src->storage, fence) : VIA_OK);
    }
    return VIA_OK;
}

Status add_access(Storage *storage, Fence *fence) {
    FenceReleaser completed;
    return put_access_or_wait(storage, fence, &completed);
}

Status wait_until_ready(Storage *storage) {
    const UniqueFence fence(last_write(storage));
    if (fence.get() == nullptr) {
        return VIA_OK;
    }
    const Status status = fence.get()->wait();
    if (status != VIA_OK && fence.get()->has_failed()) {
        (void)replace_last_write(storage, nullptr, fence.get());
    }
    return status;
}

void detach_fences(Storage *storage, AccessTracker *tracker) {
    tracker->last_write = storage->last_write.load(std::memory_order_relaxed);
    tracker->last_access = storage->last_access;
    const FenceList &older = tracker->older_accesses;
    std::for_each(older.items, older.items + older.count, [](Fence *fence) { fence->detach(); });
    if (tracker->last_access != nullptr) {
        tracker->last_access->detach();
    }
}

void defer_release(AccessTracker *tracker, const Deleter &deleter) {
    resume_deferred();
    tracker->deleter = deleter;
    collect_pending(tracker);
    const FenceList &fences = tracker->older_accesses;
    if (fences.count == 0 || free_after(deleter, fences.items, fences.count)) {
        return end_tracker(tracker);
    }
    tracker->deferred = DeferredCallback{fences.items, fences.count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    defer(&tracker->deferred);
}

}  // namespace via
