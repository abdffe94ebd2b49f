// Handles that are let go of when a scope ends.
#pragma once

#include <utility>

namespace via {

// Owns one reference to what `release` lets go of, or none.
template <class Held, auto release>
class Holder {
public:
    explicit Holder(Held *held = nullptr) : held_(held) {}
    ~Holder() noexcept(noexcept(release(std::declval<Held *>()))) {
        if (held_ != nullptr) {
            release(held_);
        }
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;
    Held *get() const { return held_; }
    Held **out() { return &held_; }
    Held *give() { return std::exchange(held_, nullptr); }

private:
    Held *held_;
};

}  // namespace via
