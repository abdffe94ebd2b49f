#include "core/array/access_tracker.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/base/lock.hpp"
#include "core/array/access_tracker_state.hpp"
#include "core/base/thread_state.hpp"

namespace via {

ForkSafeMutex order_mutex;
constinit std::atomic<uint64_t> order_changes{0};

namespace {

// Made now if there is none yet; false if there is no memory.
bool has_order(Storage *storage) {
    Order *order = storage->order.load(std::memory_order_acquire);
    if (order != nullptr) [[likely]] {
        return true;
    }
    auto *made = new (std::nothrow) Order;
    if (made != nullptr && !storage->order.compare_exchange_strong(order, made, std::memory_order_acq_rel)) {
        delete made;
    }
    return made != nullptr || order != nullptr;
}

void drop_reached(Marks *marks, Released *reached) {
    Mark **end = std::remove_if(marks->items, marks->items + marks->count, [&](Mark *mark) {
        const bool gone = reached->holds(mark) || mark->reached();
        if (gone) {
            reached->add(mark);
        }
        return gone;
    });
    marks->count = static_cast<int32_t>(end - marks->items);
}

// Leaves half the room free, so that marks are asked once in a while and not at every use.
bool make_room(Marks *marks) {
    if (marks->count * 2 < marks->capacity) {
        return true;
    }
    const int32_t capacity = std::max(8, marks->capacity * 2);
    void *grown = std::realloc(marks->items, static_cast<size_t>(capacity + 2) * sizeof(Mark *));
    if (grown != nullptr) {
        marks->items = static_cast<Mark **>(grown);
        marks->capacity = capacity;
    }
    return marks->has_room();
}

// As put_use; where there is no room, takes the list of older uses out.
bool put_or_take(Storage *storage, Mark *mark, Mark **out_covered, Marks *out_full) {
    const std::lock_guard lock(order_mutex);
    if (put_use(storage, mark, out_covered)) {
        return true;
    }
    *out_full = std::exchange(storage->order.load(std::memory_order_relaxed)->uses, Marks{});
    return false;
}

void exchange_uses(Storage *storage, Marks *marks) {
    const std::lock_guard lock(order_mutex);
    std::swap(storage->order.load(std::memory_order_relaxed)->uses, *marks);
}

// Where there is no memory to remember a mark by. One that refuses to be waited for here is still not forgotten.
Status outlast(Mark *mark) {
    const Status status = mark->wait();
    while (!mark->reached()) {
        sched_yield();
    }
    return status;
}

// Takes the mark over. Full lists are sorted out while nobody else can see them; what others put in meanwhile is then
// put back the same way.
Status put(Storage *storage, Mark *mark, Released *reached) {
    Marks list;
    Mark *covered = nullptr;
    if (put_or_take(storage, mark, &covered, &list)) {
        if (covered != nullptr) {
            covered->release();
        }
        return VIA_OK;
    }
    drop_reached(&list, reached);
    Status status = VIA_OK;
    if (make_room(&list)) {
        list.append(mark);
    } else {
        status = outlast(mark);
        mark->release();
    }
    exchange_uses(storage, &list);
    for (int32_t i = 0; i < list.count; ++i) {
        const Status other = put(storage, list.items[i], reached);
        status = status == VIA_OK ? other : status;
    }
    std::free(list.items);
    return status;
}

// Releases the mark that was `ready`, unless it is not any more.
void replace_ready(Storage *storage, Mark *mark, Mark *only_if) {
    Mark *before = nullptr;
    {
        const std::lock_guard lock(order_mutex);
        before = storage->ready.load(std::memory_order_relaxed);
        if (only_if != nullptr && before != only_if) {
            return;
        }
        storage->ready.store(mark, std::memory_order_release);
        order_changes.fetch_add(mark != nullptr ? 1 : 0, std::memory_order_release);
    }
    if (before != nullptr) {
        before->release();
    }
}

// As a use and as the ready mark at once, which it nearly always is. False, and nothing has changed, where there is no
// order yet or no room.
bool put_ready(Storage *storage, Mark *mark) {
    if (storage->order.load(std::memory_order_acquire) == nullptr) {
        return false;
    }
    Mark *covered = nullptr;
    Mark *before = nullptr;
    {
        const std::lock_guard lock(order_mutex);
        if (!put_use(storage, mark, &covered)) {
            return false;
        }
        mark->retain(2);
        before = storage->ready.exchange(mark, std::memory_order_release);
        order_changes.fetch_add(1, std::memory_order_release);
    }
    Released released;
    released.add(covered);
    released.add(before);
    return true;
}

bool is_among(const Marks &uses, Mark *mark) {
    return std::any_of(uses.items, uses.items + uses.count,
                       [=](Mark *use) { return use == mark || use->covers(*mark); });
}

// Takes the mark over, which may be nullptr, unless the list says as much without it.
void keep(Marks *marks, Mark *mark) {
    const MarkHolder holder(mark);
    if (mark != nullptr && !is_among(*marks, mark) && !mark->reached()) {
        mark->retain();
        marks->append(mark);
    }
}

// What has to be reached before the order ends. Nobody else knows it any more.
void collect(Order *order) {
    Released reached;
    drop_reached(&order->uses, &reached);
    order->uses.items = order->uses.items != nullptr ? order->uses.items : order->few;
    keep(&order->uses, std::exchange(order->newest, nullptr));
    keep(&order->uses, std::exchange(order->ready, nullptr));
}

// Nobody has to wait on the host for what the device itself comes after.
bool follow(const Disposal &disposal, Mark **marks, int32_t count) {
    if (disposal.follow == nullptr || !disposal.follow(disposal, marks, count)) {
        return false;
    }
    std::for_each(marks, marks + count, [](Mark *mark) { mark->release(); });
    return true;
}

void end_order(Order *order) {
    const Disposal disposal = order->disposal;
    if (order->uses.items != order->few) {
        std::free(order->uses.items);
    }
    delete order;
    dispose(disposal);
}

void release_pending(Watch *watch) {
    count(Counter::PendingReleases, -1);
    end_order(reinterpret_cast<Order *>(reinterpret_cast<char *>(watch) - offsetof(Order, watch)));
}

// Among the last few only: no list is long to search. nullptr if there is none.
Mark **find_covered(const Marks &marks, const Mark &mark) {
    constexpr int32_t kLooks = 4;
    for (int32_t i = marks.count - 1; i >= 0 && i >= marks.count - kLooks; --i) {
        if (mark.covers(*marks.items[i])) {
            return &marks.items[i];
        }
    }
    return nullptr;
}

}  // namespace

bool put_use(Storage *storage, Mark *mark, Mark **out_covered) {
    Mark *newest = storage->newest_use;
    if (newest == nullptr || newest == mark || mark->covers(*newest)) [[likely]] {
        *out_covered = std::exchange(storage->newest_use, mark);
        return true;
    }
    Marks &older = storage->order.load(std::memory_order_relaxed)->uses;
    Mark **covered = find_covered(older, *mark);
    *out_covered = covered != nullptr ? std::exchange(*covered, newest) : nullptr;
    if (covered == nullptr) {
        if (!older.has_room()) {
            return false;
        }
        older.append(newest);
    }
    storage->newest_use = mark;
    return true;
}

Mark *retained_ready(Storage *storage) { return ready_mark_before(storage, {}); }

Status add_use(Storage *storage, Mark *mark, Released *reached) {
    if (!has_order(storage)) {
        return outlast(mark);
    }
    mark->retain();
    return put(storage, mark, reached);
}

Mark *ready_mark(Storage *storage) {
    Mark *mark = retained_ready(storage);
    if (mark == nullptr || !mark->reached()) {
        return mark;
    }
    replace_ready(storage, nullptr, mark);
    mark->release();
    return nullptr;
}

Mark *ready_mark_before(Storage *storage, const Timeline &later) {
    if (storage->ready.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(order_mutex);
    Mark *mark = storage->ready.load(std::memory_order_relaxed);
    if (mark == nullptr || mark->is_of(later)) {
        return nullptr;
    }
    mark->retain();
    return mark;
}

Status set_ready_mark(Storage *storage, Mark *mark) {
    if (put_ready(storage, mark)) [[likely]] {
        return VIA_OK;
    }
    VIA_TRY(add_use_mark(storage, mark));
    if (storage->order.load(std::memory_order_acquire) != nullptr) {
        mark->retain();
        replace_ready(storage, mark, nullptr);
    }
    return VIA_OK;
}

Status add_use_mark(Storage *storage, Mark *mark) {
    Released reached;
    return add_use(storage, mark, &reached);
}

Status wait_until_ready(Storage *storage) {
    const MarkHolder mark(ready_mark(storage));
    return mark.get() != nullptr ? mark.get()->wait() : VIA_OK;
}

void leave_marks(Storage *storage, Order *order) {
    order->ready = storage->ready.load(std::memory_order_relaxed);
    order->newest = storage->newest_use;
    std::for_each(order->uses.items, order->uses.items + order->uses.count, [](Mark *mark) { mark->leave(); });
    if (order->newest != nullptr) {
        order->newest->leave();
    }
}

void retire(Order *order, const Disposal &disposal) {
    resume_watches();
    order->disposal = disposal;
    collect(order);
    const Marks &marks = order->uses;
    if (marks.count == 0 || follow(disposal, marks.items, marks.count)) {
        return end_order(order);
    }
    order->watch = Watch{marks.items, marks.count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    watch(&order->watch);
}

}  // namespace via
