// Caches one used object for reuse, with the capacity of its lists: long lists would otherwise be allocated anew each
// time, page by page.
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

    // Returns the cached object or a new one; nullptr without memory.
    Object *take() {
        Object *object = cached_.exchange(nullptr, std::memory_order_acquire);
        return object != nullptr ? object : new (std::nothrow) Object;
    }

    // Consumes the object, which must be in the state of a new one.
    void give_back(Object *object) { delete cached_.exchange(object, std::memory_order_acq_rel); }

private:
    std::atomic<Object *> cached_{nullptr};
};

}  // namespace via
