// The inside of what a storage knows of work that runs behind. For the files that implement order.hpp.
#pragma once

#include "core/base/lock.hpp"
#include "core/array/access_tracker.hpp"
#include "core/async/reaper.hpp"

namespace via {

// A list that owns its marks.
struct Marks {
    Mark **items = nullptr;  // with two places more than the capacity, for the storage's own marks at the end
    int32_t count = 0;
    int32_t capacity = 0;

    bool has_room() const { return count < capacity; }
    void append(Mark *mark) { items[count++] = mark; }
};

class Order {
public:
    Marks uses;             // older than the storage's newest one
    Mark *ready = nullptr;  // these two from leave_marks on
    Mark *newest = nullptr;
    Mark *few[2] = {};  // from retire on: the list where there were no older uses
    Disposal disposal{};
    Watch watch{};
};

// Of all storages: held for a few instructions only, and never while a mark is asked anything.
extern ForkSafeMutex order_mutex;

// Counts the ready marks that have been set.
extern std::atomic<uint64_t> order_changes;

// Marks that are let go of one after the other: as long as it is the same one, its owners are counted first.
class Released {
public:
    Released() = default;
    ~Released() { flush(); }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

    // Takes it over; nullptr is none.
    void add(Mark *mark) {
        if (mark != mark_) {
            flush();
            mark_ = mark;
        }
        ++owners_;
    }

    // Whether it is the one that was added last.
    bool holds(Mark *mark) const { return mark == mark_; }

private:
    void flush() {
        if (mark_ != nullptr) {
            mark_->release(owners_);
        }
        owners_ = 0;
    }

    Mark *mark_ = nullptr;
    int64_t owners_ = 0;
};

// Takes the mark over as the newest use. A stream that uses an array again and again is remembered once: *out_covered
// is the one whose place it takes, the caller's then, or nullptr. False, and nothing is taken, where there is no room.
// The storage has an order. With the lock held.
VIA_NODISCARD bool put_use(Storage *storage, Mark *mark, Mark **out_covered);

// The ready mark, reached or not; retained for the caller.
Mark *retained_ready(Storage *storage);

// add_use_mark; what of older marks has been reached goes to `reached`.
VIA_NODISCARD Status add_use(Storage *storage, Mark *mark, Released *reached);

}  // namespace via
