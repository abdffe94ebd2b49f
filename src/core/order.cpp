#include "core/order.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/lock.hpp"
#include "core/order_state.hpp"
#include "core/thread_state.hpp"

namespace via {

constinit pthread_mutex_t order_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<uint64_t> order_changes{0};

namespace {

void nothing_is_lost() {}

[[maybe_unused]] const bool guarded = guard_over_fork<order_mutex, nothing_is_lost>();

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
    void *grown = std::realloc(marks->items, static_cast<size_t>(capacity + 1) * sizeof(Mark *));
    if (grown != nullptr) {
        marks->items = static_cast<Mark **>(grown);
        marks->capacity = capacity;
    }
    return marks->has_room();
}

// Takes the mark over if there is room, or one that it covers, which is *out_covered then; otherwise takes the list
// out.
bool put_or_take(Order *order, Mark *mark, Mark **out_covered, Marks *out_full) {
    const Lock lock(&order_mutex);
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
    const Lock lock(&order_mutex);
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
Status put(Order *order, Mark *mark, Released *reached) {
    Marks list;
    Mark *covered = nullptr;
    if (put_or_take(order, mark, &covered, &list)) {
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
    exchange_uses(order, &list);
    for (int32_t i = 0; i < list.count; ++i) {
        const Status other = put(order, list.items[i], reached);
        status = status == VIA_OK ? other : status;
    }
    std::free(list.items);
    return status;
}

// Releases the mark that was `ready`, unless it is not any more.
void replace_ready(Order *order, Mark *mark, Mark *only_if) {
    Mark *before = nullptr;
    {
        const Lock lock(&order_mutex);
        before = order->ready.load(std::memory_order_relaxed);
        if (only_if != nullptr && before != only_if) {
            return;
        }
        order->ready.store(mark, std::memory_order_release);
        order_changes.fetch_add(mark != nullptr ? 1 : 0, std::memory_order_release);
    }
    if (before != nullptr) {
        before->release();
    }
}

bool is_among(const Marks &uses, Mark *mark) {
    return std::any_of(uses.items, uses.items + uses.count,
                       [=](Mark *use) { return use == mark || use->covers(*mark); });
}

// Nobody else knows the order any more.
void keep_ready(Order *order) {
    const MarkHolder ready(order->ready.exchange(nullptr, std::memory_order_relaxed));
    if (ready.get() == nullptr || is_among(order->uses, ready.get()) || ready.get()->reached()) {
        return;
    }
    ready.get()->retain();
    if (order->uses.items == nullptr) {
        order->content = ready.get();
    } else {
        order->uses.append(ready.get());
    }
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
    std::free(order->uses.items);
    delete order;
    dispose(disposal);
}

void release_pending(Watch *watch) {
    count(Counter::PendingReleases, -1);
    end_order(reinterpret_cast<Order *>(reinterpret_cast<char *>(watch) - offsetof(Order, watch)));
}

}  // namespace

// Among the last few only: no list is long to search.
Mark *replace_covered(Marks *marks, Mark *mark) {
    constexpr int32_t kLooks = 4;
    for (int32_t i = marks->count - 1; i >= 0 && i >= marks->count - kLooks; --i) {
        if (mark->covers(*marks->items[i])) {
            return std::exchange(marks->items[i], mark);
        }
    }
    return nullptr;
}

Mark *retained_ready(Order *order) {
    if (order->ready.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    const Lock lock(&order_mutex);
    Mark *mark = order->ready.load(std::memory_order_relaxed);
    if (mark != nullptr) {
        mark->retain();
    }
    return mark;
}

Status add_use(Storage *storage, Mark *mark, Released *reached) {
    Order *order = order_of(storage);
    if (order == nullptr) {
        return outlast(mark);
    }
    mark->retain();
    return put(order, mark, reached);
}

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
    Released reached;
    return add_use(storage, mark, &reached);
}

Status wait_until_ready(Storage *storage) {
    const MarkHolder mark(ready_mark(storage));
    return mark.get() != nullptr ? mark.get()->wait() : VIA_OK;
}

void retire(Order *order, const Disposal &disposal) {
    resume_watches();
    order->disposal = disposal;
    Released reached;
    drop_reached(&order->uses, &reached);
    keep_ready(order);
    const bool alone = order->content != nullptr;
    Mark **marks = alone ? &order->content : order->uses.items;
    const int32_t marks_count = alone ? 1 : order->uses.count;
    if (marks_count == 0 || follow(disposal, marks, marks_count)) {
        return end_order(order);
    }
    order->watch = Watch{marks, marks_count, release_pending, nullptr};
    count(Counter::PendingReleases, 1);
    watch(&order->watch);
}

}  // namespace via
