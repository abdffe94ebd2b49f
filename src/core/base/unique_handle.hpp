// Handles that are let go of when a scope ends.
#pragma once

#include <utility>

namespace via {

// Owns one reference to what `destroy` lets go of, or none.
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

private:
    Held *held_;
};

}  // namespace via
