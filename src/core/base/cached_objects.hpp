// Caches used objects for reuse, with the capacity of their lists: long lists would otherwise be allocated anew each
// time, page by page.
#pragma once

#include <atomic>
#include <new>

namespace via {

// Keeps up to kCount objects: as many as are usually in use at once.
template <class Object, int kCount = 1>
class CachedObjects {
public:
    constexpr CachedObjects() = default;
    CachedObjects(const CachedObjects &) = delete;
    CachedObjects &operator=(const CachedObjects &) = delete;

    // Returns a cached object or a new one; nullptr without memory.
    Object *take() {
        for (std::atomic<Object *> &cached : cached_) {
            if (cached.load(std::memory_order_relaxed) == nullptr) {
                continue;
            }
            if (Object *object = cached.exchange(nullptr, std::memory_order_acquire); object != nullptr) {
                return object;
            }
        }
        return new (std::nothrow) Object;
    }

    // Consumes the object, which must be in the state of a new one.
    void give_back(Object *object) {
        for (std::atomic<Object *> &cached : cached_) {
            Object *expected = nullptr;
            if (cached.compare_exchange_strong(expected, object, std::memory_order_release,
                                               std::memory_order_relaxed)) {
                return;
            }
        }
        delete object;
    }

private:
    std::atomic<Object *> cached_[kCount]{};
};

}  // namespace via
