// One object that has served, kept for the next who needs one, with the room that its lists have got: long ones would
// else take their memory from the system anew each time, page by page.
#pragma once

#include <atomic>
#include <new>

namespace via {

template <class Object>
class CachedObject {
public:
    constexpr CachedObject() = default;
    CachedObject(const CachedObject &) = delete;
    CachedObject &operator=(const CachedObject &) = delete;

    // nullptr if there is no memory.
    Object *take() {
        Object *object = cached_.exchange(nullptr, std::memory_order_acquire);
        return object != nullptr ? object : new (std::nothrow) Object;
    }

    // Takes it over, as good as new.
    void give_back(Object *object) { delete cached_.exchange(object, std::memory_order_acq_rel); }

private:
    std::atomic<Object *> cached_{nullptr};
};

}  // namespace via
