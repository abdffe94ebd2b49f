// One object that has served, kept for the next who needs one, with the room that its lists have got: long ones would
// else take their memory from the system anew each time, page by page.
#pragma once

#include <atomic>
#include <new>

namespace via {

template <class Object>
class Spare {
public:
    constexpr Spare() = default;
    Spare(const Spare &) = delete;
    Spare &operator=(const Spare &) = delete;

    // nullptr if there is no memory.
    Object *take() {
        Object *object = kept_.exchange(nullptr, std::memory_order_acquire);
        return object != nullptr ? object : new (std::nothrow) Object;
    }

    // Takes it over, as good as new.
    void give_back(Object *object) { delete kept_.exchange(object, std::memory_order_acq_rel); }

private:
    std::atomic<Object *> kept_{nullptr};
};

}  // namespace via
