// Owners of handles, which they release at the end of a scope.
#pragma once

#include <utility>

namespace via {

// Owns one reference, which `destroy` releases, or none.
template <class Held, auto destroy>
class UniqueHandle {
public:
    explicit UniqueHandle(Held *held = nullptr) : held_(held) {}
    ~UniqueHandle() noexcept(noexcept(destroy(std::declval<Held *>()))) {
        if (held_ != nullptr) {
            destroy(held_);
        }
    }
    UniqueHandle(const UniqueHandle &) = delete;
    UniqueHandle &operator=(const UniqueHandle &) = delete;
    Held *get() const { return held_; }
    Held **out() { return &held_; }
    Held *release() { return std::exchange(held_, nullptr); }
    void reset(Held *held) { UniqueHandle before(std::exchange(held_, held)); }

private:
    Held *held_;
};

}  // namespace via
