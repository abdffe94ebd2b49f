#include "core/order.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/lock.hpp"
#include "core/thread_state.hpp"
#include "core/watcher.hpp"

namespace via {
namespace {

// A list that owns its marks.
struct Marks {
    Mark **items = nullptr;
    int32_t count = 0;
    int32_t capacity = 0;

    bool has_room() const { return count < capacity; }
    void append(Mark *mark) { items[count++] = mark; }
};

// Of all storages: held for a few instructions only, and never while a mark is asked anything.
constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void nothing_is_lost() {}

[[maybe_unused]] const bool guarded = guard_over_fork<mutex, nothing_is_lost>();

}  // namespace

class Order {
public:
    std::atomic<Mark *> ready{nullptr};  // owned; changed with the lock held
    Marks uses;                          // `ready`, or one that covers it, is among them until it has been reached
    Disposal disposal{};                 // both from retire on
    Watch watch{};
};

namespace {

// nullptr if there is no memory.
Order *order_of(Storage *storage) {
    Order *order = storage->order.load(std::memory_order_acquire);
    if (order != nullptr) {
        return order;
    }
    auto *made = new (std::nothrow) Order;
    if (made != nullptr && !storage->order.compare_exchange_strong(order, made, std::memory_order_acq_rel)) {
        delete made;
        return order;
    }
    return made;
}

void drop_reached(Marks *marks) {
    Mark **end = std::remove_if(marks->items, marks->items + marks->count, [](Mark *mark) {
        const bool reached = mark->reached();
        if (reached) {
            mark->release();
        }
        return reached;
    });
    marks->count = static_cast<int32_t>(end - marks->items);
}

// Leaves half the room free, so that marks are asked once in a while and not at every use.
bool make_room(Marks *marks) {
    if (marks->count * 2 < marks->capacity) {
        return true;
    }
    const int32_t capacity = std::max(4, marks->capacity * 2);
    void *grown = std::realloc(marks->items, static_cast<size_t>(capacity) * sizeof(Mark *));
    if (grown != nullptr) {
        marks->items = static_cast<Mark **>(grown);
        marks->capacity = capacity;
    }
    return marks->has_room();
}

// A stream that uses an array again and again is remembered once. Among the last few only: no list is long to search.
Mark *replace_covered(Marks *marks, Mark *mark) {
    constexpr int32_t kLooks = 4;
    for (int32_t i = marks->count - 1; i >= 0 && i >= marks->count - kLooks; --i) {
        if (mark->covers(*marks->items[i])) {
            return std::exchange(marks->items[i], mark);
        }
    }
    return nullptr;
}

// Takes the mark over if there is room, or one that it covers, which is *out_covered then; otherwise takes the list
// out.
bool put_or_take(Order *order, Mark *mark, Mark **out_covered, Marks *out_full) {
    const Lock lock(&mutex);
    *out_covered = replace_covered(&order->uses, mark);
    if (*out_covered != nullptr) {
        return true;
    }
    if (order->uses.has_room()) {
        order->uses.append(mark);
        return true;
    }
    *out_full = std::exchange(order->uses, Marks{});
    return false;
}

void exchange_uses(Order *order, Marks *marks) {
    const Lock lock(&mutex);
    std::swap(order->uses, *marks);
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
Status put(Order *order, Mark *mark) {
    Marks list;
    Mark *covered = nullptr;
    if (put_or_take(order, mark, &covered, &list)) {
        if (covered != nullptr) {
            covered->release();
        }
        return VIA_OK;
    }
    drop_reached(&list);
    Status status = VIA_OK;
    if (make_room(&list)) {
        list.append(mark);
    } else {
        status = outlast(mark);
        mark->release();
    }
    exchange_uses(order, &list);
    for (int32_t i = 0; i < list.count; ++i) {
        const Status other = put(order, list.items[i]);
        status = status == VIA_OK ? other : status;
    }
    std::free(list.items);
    return status;
}

// Releases the mark that was `ready`, unless it is not any more.
void replace_ready(Order *order, Mark *mark, Mark *only_if) {
    Mark *before = nullptr;
    {
        const Lock lock(&mutex);
        before = order->ready.load(std::memory_order_relaxed);
        if (only_if != nullptr && before != only_if) {
            return;
        }
        order->ready.store(mark, std::memory_order_release);
    }
    if (before != nullptr) {
        before->release();
    }
}

Mark *retained_ready(Order *order) {
    if (order->ready.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    const Lock lock(&mutex);
    Mark *mark = order->ready.load(std::memory_order_relaxed);
    if (mark != nullptr) {
        mark->retain();
    }
    return mark;
}

// Nobody has to wait on the host for what the device itself comes after.
bool follow_uses(Order *order) {
    const Disposal &disposal = order->disposal;
    Marks *uses = &order->uses;
    if (disposal.follow == nullptr || !disposal.follow(disposal, uses->items, uses->count)) {
        return false;
    }
    std::for_each(uses->items, uses->items + uses->count, [](Mark *mark) { mark->release(); });
    return true;
}

void end_order(Order *order) {
    const Disposal disposal = order->disposal;
    std::free(order->uses.items);
    delete order;
    dispose(disposal);
}

void release_pending(Watch *watch) {
    count(Counter::PendingReleases, -1);
    end_order(reinterpret_cast<Order *>(reinterpret_cast<char *>(watch) - offsetof(Order, watch)));
}

}  // namespace

Mark *ready_mark(Storage *storage) {
    Mark *mark = last_ready_mark(storage);
    if (mark == nullptr || !mark->reached()) {
        return mark;
    }
    replace_ready(storage->order.load(std::memory_order_acquire), nullptr, mark);
    mark->release();
    return nullptr;
}

Mark *last_ready_mark(Storage *storage) {
    Order *order = storage->order.load(std::memory_order_acquire);
    return order != nullptr ? retained_ready(order) : nullptr;
}

Status set_ready_mark(Storage *storage, Mark *mark) {
    VIA_TRY(add_use_mark(storage, mark));
    Order *order = storage->order.load(std::memory_order_acquire);
    if (order != nullptr) {
        mark->retain();
        replace_ready(order, mark, nullptr);
    }
    return VIA_OK;
}

Status add_use_mark(Storage *storage, Mark *mark) {
    Order *order = order_of(storage);
    if (order == nullptr) {
        return outlast(mark);
    }
    mark->retain();
    return put(order, mark);
}

Status wait_until_ready(Storage *storage) {
    const MarkHolder mark(ready_mark(storage));
    return mark.get() != nullptr ? mark.get()->wait() : VIA_OK;
}

void retire(Order *order, const Disposal &disposal) {
    resume_watches();
    replace_ready(order, nullptr, nullptr);
    order->disposal = disposal;
    drop_reached(&order->uses);
    if (order->uses.count == 0 || follow_uses(order)) {
        return end_order(order);
    }
    order->watch = Watch{order->uses.items, order->uses.count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    watch(&order->watch);
}

}  // namespace via
