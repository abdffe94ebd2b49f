#include "core/array/access_tracker.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "core/async/reaper.hpp"
#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"

namespace via {

// Owns its fences.
struct FenceList {
    Fence **items = nullptr;  // room for two beyond the capacity: the inline fences of the storage, at its release
    int32_t count = 0;
    int32_t capacity = 0;

    bool has_room() const { return count < capacity; }
    void append(Fence *fence) { items[count++] = fence; }
};

class AccessTracker : public DeferredCallback {
public:
    FenceList older_accesses;     // before the storage's last access
    Fence *last_write = nullptr;  // from detach_fences on, and the next one too
    Fence *last_access = nullptr;
    Fence *inline_fences[2] = {};  // from defer_release on: the list if there were no older accesses
    Deleter deleter{};
};

namespace {

// Guards the fences of all storages. Held for a few instructions, never while a fence is queried or released.
ForkSafeMutex access_mutex;

// Counts recorded writes.
constinit std::atomic<uint64_t> write_change_count{0};

// Counts a write, and gives its fence the number. Call it once the storages have the fence.
void number_write(Fence *fence) {
    fence->note_recorded(write_change_count.fetch_add(1, std::memory_order_acq_rel) + 1);
}

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

// Returns whether the fence may replace that of the last write, which may be nullptr. A failure of that is not lost.
bool is_after_last_write(Fence *last, const Fence &fence) {
    return last == nullptr || last == &fence || (!last->may_fail() && fence.is_ordered_after(*last));
}

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

// Makes the fence the last access and consumes a reference to it. Stores the fence that it replaces, which the caller
// then owns, or nullptr. Returns false and consumes nothing if the list is full. Call it with access_mutex held, for a
// storage that has a tracker.
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
        status = first_of(status, put(storage, list.items[i], completed));
    }
    std::free(list.items);
    return status;
}

// Does the same as add_access; completed older fences go to `completed`.
Status put_access_or_wait(Storage *storage, Fence *fence, FenceReleaser *completed) {
    if (!ensure_tracker(storage)) {
        return block_until_complete(fence);
    }
    fence->retain();
    return put(storage, fence, completed);
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
    release_fences(fences, count);
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
    end_tracker(static_cast<AccessTracker *>(deferred));
}

}  // namespace

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

namespace {

Status wait_for_write(Storage *storage, Status (Fence::*wait)()) {
    const UniqueFence fence(last_write(storage));
    if (fence.get() == nullptr) {
        return VIA_OK;
    }
    const Status status = (fence.get()->*wait)();
    if (status != VIA_OK && fence.get()->has_failed()) {
        (void)replace_last_write(storage, nullptr, fence.get());
    }
    return status;
}

}  // namespace

Status wait_until_ready(Storage *storage) { return wait_for_write(storage, &Fence::wait); }

Status wait_for_last_write(Storage *storage) { return wait_for_write(storage, &Fence::wait_for_order); }

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

// Gives storages the fence under one lock. put(storage, &replaced) stores the fence that the storage had, which may be
// nullptr, or returns false; put_slowly(storage) then follows without the lock. Always inlined: a batch has thousands
// of storages, each of which takes a few nanoseconds.
template <class Put, class PutSlowly>
[[gnu::always_inline]] inline Status put_some(Chunk chunk, Fence *fence, Put put, PutSlowly put_slowly) {
    Fence *replaced[kAtOnce];
    Storage *rest[kAtOnce];
    int64_t rests = 0;
    const int64_t count = chunk.count();
    fence->retain(count);
    {
        const std::lock_guard lock(access_mutex);
        for (int64_t i = 0; i < count; ++i) {
            Storage *storage = chunk.storages[i];
            prefetch(chunk.storages + i, chunk.left - i);
            if (!put(storage, &replaced[i])) [[unlikely]] {
                replaced[i] = fence;
                rest[rests++] = storage;
            }
        }
    }
    {
        FenceReleaser releaser;
        std::for_each(replaced, replaced + count, [&](Fence *old) { releaser.add(old); });
    }
    Status status = VIA_OK;
    for (int64_t i = 0; i < rests; ++i) {
        status = first_of(status, put_slowly(rest[i]));
    }
    return status;
}

// Falls back to set_last_write for storages without tracker, and after a write that may be later.
Status set_some(const Chunk &chunk, Fence *fence) {
    const auto put = [=](Storage *storage, Fence **out_before) {
        Fence *before = storage->last_write.load(std::memory_order_relaxed);
        const bool is_tracked = before != nullptr || storage->tracker.load(std::memory_order_acquire) != nullptr;
        *out_before = before;
        if (is_tracked && is_after_last_write(before, *fence)) [[likely]] {
            storage->last_write.store(fence, std::memory_order_release);
            return true;
        }
        return false;
    };
    fence->note_recorded(UINT64_MAX);  // until all of these have it; a chunk before may have had it numbered
    return put_some(chunk, fence, put, [=](Storage *storage) { return set_last_write(storage, fence); });
}

// Does the same as put_access; returns false also without a tracker. `known` is a fence that this one replaced before:
// neighbours tend to have the same last access.
bool put_quickly(Storage *storage, Fence *fence, Fence *known, Fence **out_replaced) {
    if (known != nullptr && storage->last_access == known) [[likely]] {
        *out_replaced = std::exchange(storage->last_access, fence);
        return true;
    }
    return storage->tracker.load(std::memory_order_acquire) != nullptr && put_access(storage, fence, out_replaced);
}

// Falls back to put_access_or_wait for storages without tracker or with a full list.
Status add_some(const Chunk &chunk, Fence *fence, FenceReleaser *completed) {
    Fence *known = nullptr;
    const auto put = [&](Storage *storage, Fence **out_replaced) {
        const bool is_put = put_quickly(storage, fence, known, out_replaced);
        known = is_put && *out_replaced != nullptr ? *out_replaced : known;
        return is_put;
    };
    return put_some(chunk, fence, put, [&](Storage *storage) { return put_access_or_wait(storage, fence, completed); });
}

}  // namespace

uint64_t write_changes() { return write_change_count.load(std::memory_order_acquire); }

LastWriteFences::~LastWriteFences() { release_fences(fences_.begin(), static_cast<int32_t>(fences_.count())); }

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
    release_fences(end, static_cast<int32_t>(fences_.end() - end));
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
        status = first_of(status, set_some(chunk, fence));
    }
    // After the stores: a thread that has read an older fence sees the number change.
    number_write(fence);
    return status;
}

Status add_accesses(Storage *const *storages, int64_t count, Fence *fence) {
    FenceReleaser completed;
    Status status = VIA_OK;
    for (Chunk chunk{storages, count}; chunk.left > 0; chunk = chunk.next()) {
        status = first_of(status, add_some(chunk, fence, &completed));
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
    static_cast<DeferredCallback &>(*tracker) = {fences.items, fences.count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    defer(tracker);
}

}  // namespace via
