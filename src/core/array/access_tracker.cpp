#include "core/array/access_tracker.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/array/access_tracker_state.hpp"
#include "core/base/lock.hpp"
#include "core/base/thread_state.hpp"

namespace via {

ForkSafeMutex access_mutex;
constinit std::atomic<uint64_t> write_change_count{0};

namespace {

// Made now if there is none yet; false if there is no memory.
bool has_tracker(Storage *storage) {
    AccessTracker *order = storage->tracker.load(std::memory_order_acquire);
    if (order != nullptr) [[likely]] {
        return true;
    }
    auto *made = new (std::nothrow) AccessTracker;
    if (made != nullptr && !storage->tracker.compare_exchange_strong(order, made, std::memory_order_acq_rel)) {
        delete made;
    }
    return made != nullptr || order != nullptr;
}

void drop_complete(FenceList *fences, Released *reached) {
    Fence **end = std::remove_if(fences->items, fences->items + fences->count, [&](Fence *fence) {
        const bool gone = reached->holds(fence) || fence->is_complete();
        if (gone) {
            reached->add(fence);
        }
        return gone;
    });
    fences->count = static_cast<int32_t>(end - fences->items);
}

// Leaves half the room free, so that fences are asked once in a while and not at every use.
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

// As put_access; where there is no room, takes the list of older uses out.
bool put_or_take(Storage *storage, Fence *fence, Fence **out_covered, FenceList *out_full) {
    const std::lock_guard lock(access_mutex);
    if (put_access(storage, fence, out_covered)) {
        return true;
    }
    *out_full = std::exchange(storage->tracker.load(std::memory_order_relaxed)->uses, FenceList{});
    return false;
}

void exchange_uses(Storage *storage, FenceList *fences) {
    const std::lock_guard lock(access_mutex);
    std::swap(storage->tracker.load(std::memory_order_relaxed)->uses, *fences);
}

// Where there is no memory to remember a fence by. One that refuses to be waited for here is still not forgotten.
Status block_until_complete(Fence *fence) {
    const Status status = fence->wait();
    while (!fence->is_complete()) {
        sched_yield();
    }
    return status;
}

// Takes the fence over. Full lists are sorted out while nobody else can see them; what others put in meanwhile is then
// put back the same way.
Status put(Storage *storage, Fence *fence, Released *reached) {
    FenceList list;
    Fence *covered = nullptr;
    if (put_or_take(storage, fence, &covered, &list)) {
        if (covered != nullptr) {
            covered->release();
        }
        return VIA_OK;
    }
    drop_complete(&list, reached);
    Status status = VIA_OK;
    if (make_room(&list)) {
        list.append(fence);
    } else {
        status = block_until_complete(fence);
        fence->release();
    }
    exchange_uses(storage, &list);
    for (int32_t i = 0; i < list.count; ++i) {
        const Status other = put(storage, list.items[i], reached);
        status = status == VIA_OK ? other : status;
    }
    std::free(list.items);
    return status;
}

// Releases the fence that was `ready`, unless it is not any more.
void replace_last_write(Storage *storage, Fence *fence, Fence *only_if) {
    Fence *before = nullptr;
    {
        const std::lock_guard lock(access_mutex);
        before = storage->ready.load(std::memory_order_relaxed);
        if (only_if != nullptr && before != only_if) {
            return;
        }
        storage->ready.store(fence, std::memory_order_release);
        write_change_count.fetch_add(fence != nullptr ? 1 : 0, std::memory_order_release);
    }
    if (before != nullptr) {
        before->release();
    }
}

// As a use and as the ready fence at once, which it nearly always is. False, and nothing has changed, where there is no
// order yet or no room.
bool put_write(Storage *storage, Fence *fence) {
    if (storage->tracker.load(std::memory_order_acquire) == nullptr) {
        return false;
    }
    Fence *covered = nullptr;
    Fence *before = nullptr;
    {
        const std::lock_guard lock(access_mutex);
        if (!put_access(storage, fence, &covered)) {
            return false;
        }
        fence->retain(2);
        before = storage->ready.exchange(fence, std::memory_order_release);
        write_change_count.fetch_add(1, std::memory_order_release);
    }
    Released released;
    released.add(covered);
    released.add(before);
    return true;
}

bool is_among(const FenceList &uses, Fence *fence) {
    return std::any_of(uses.items, uses.items + uses.count,
                       [=](Fence *use) { return use == fence || use->happens_after(*fence); });
}

// Takes the fence over, which may be nullptr, unless the list says as much without it.
void keep(FenceList *fences, Fence *fence) {
    const UniqueFence holder(fence);
    if (fence != nullptr && !is_among(*fences, fence) && !fence->is_complete()) {
        fence->retain();
        fences->append(fence);
    }
}

// What has to be reached before the order ends. Nobody else knows it any more.
void collect(AccessTracker *order) {
    Released reached;
    drop_complete(&order->uses, &reached);
    order->uses.items = order->uses.items != nullptr ? order->uses.items : order->few;
    keep(&order->uses, std::exchange(order->newest, nullptr));
    keep(&order->uses, std::exchange(order->ready, nullptr));
}

// Nobody has to wait on the host for what the device itself comes after.
bool free_after(const Deleter &deleter, Fence **fences, int32_t count) {
    if (deleter.free_after == nullptr || !deleter.free_after(deleter, fences, count)) {
        return false;
    }
    std::for_each(fences, fences + count, [](Fence *fence) { fence->release(); });
    return true;
}

void end_tracker(AccessTracker *order) {
    const Deleter deleter = order->deleter;
    if (order->uses.items != order->few) {
        std::free(order->uses.items);
    }
    delete order;
    run_deleter(deleter);
}

void release_pending(DeferredCallback *deferred) {
    count(Counter::PendingReleases, -1);
    end_tracker(
        reinterpret_cast<AccessTracker *>(reinterpret_cast<char *>(deferred) - offsetof(AccessTracker, deferred)));
}

// Among the last few only: no list is long to search. nullptr if there is none.
Fence **find_covered(const FenceList &fences, const Fence &fence) {
    constexpr int32_t kLooks = 4;
    for (int32_t i = fences.count - 1; i >= 0 && i >= fences.count - kLooks; --i) {
        if (fence.happens_after(*fences.items[i])) {
            return &fences.items[i];
        }
    }
    return nullptr;
}

}  // namespace

bool put_access(Storage *storage, Fence *fence, Fence **out_covered) {
    Fence *newest = storage->newest_access;
    if (newest == nullptr || newest == fence || fence->happens_after(*newest)) [[likely]] {
        *out_covered = std::exchange(storage->newest_access, fence);
        return true;
    }
    FenceList &older = storage->tracker.load(std::memory_order_relaxed)->uses;
    Fence **covered = find_covered(older, *fence);
    *out_covered = covered != nullptr ? std::exchange(*covered, newest) : nullptr;
    if (covered == nullptr) {
        if (!older.has_room()) {
            return false;
        }
        older.append(newest);
    }
    storage->newest_access = fence;
    return true;
}

Fence *retained_last_write(Storage *storage) { return last_write_before(storage, {}); }

Status put_access_or_wait(Storage *storage, Fence *fence, Released *reached) {
    if (!has_tracker(storage)) {
        return block_until_complete(fence);
    }
    fence->retain();
    return put(storage, fence, reached);
}

Fence *last_write(Storage *storage) {
    Fence *fence = retained_last_write(storage);
    if (fence == nullptr || !fence->is_complete()) {
        return fence;
    }
    replace_last_write(storage, nullptr, fence);
    fence->release();
    return nullptr;
}

Fence *last_write_before(Storage *storage, const Timeline &later) {
    if (storage->ready.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(access_mutex);
    Fence *fence = storage->ready.load(std::memory_order_relaxed);
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
    if (storage->tracker.load(std::memory_order_acquire) != nullptr) {
        fence->retain();
        replace_last_write(storage, fence, nullptr);
    }
    return VIA_OK;
}

Status add_access(Storage *storage, Fence *fence) {
    Released reached;
    return put_access_or_wait(storage, fence, &reached);
}

Status wait_until_ready(Storage *storage) {
    const UniqueFence fence(last_write(storage));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

void detach_fences(Storage *storage, AccessTracker *order) {
    order->ready = storage->ready.load(std::memory_order_relaxed);
    order->newest = storage->newest_access;
    std::for_each(order->uses.items, order->uses.items + order->uses.count, [](Fence *fence) { fence->detach(); });
    if (order->newest != nullptr) {
        order->newest->detach();
    }
}

void defer_release(AccessTracker *order, const Deleter &deleter) {
    resume_deferred();
    order->deleter = deleter;
    collect(order);
    const FenceList &fences = order->uses;
    if (fences.count == 0 || free_after(deleter, fences.items, fences.count)) {
        return end_tracker(order);
    }
    order->deferred = DeferredCallback{fences.items, fences.count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    defer(&order->deferred);
}

}  // namespace via
