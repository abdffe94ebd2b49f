// Makes objects without exceptions, and owns them until the end of a scope.
#pragma once

#include <functional>
#include <new>
#include <utility>

#include "core/base/status.hpp"

namespace via {

// Makes an object of these members. Errors: VIA_ERROR_OUT_OF_MEMORY, "no memory for WHAT".
template <class Object, class... Members>
VIA_NODISCARD Status make_object(const char *what, Object **out_object, Members &&...members) {
    *out_object = new (std::nothrow) Object{std::forward<Members>(members)...};
    return *out_object != nullptr ? VIA_OK : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for %s", what);
}

// Owns one reference, which `destroy` releases, or none. `destroy` is a function, or a member that takes nothing.
template <class Held, auto destroy>
class UniqueHandle {
public:
    explicit UniqueHandle(Held *held = nullptr) : held_(held) {}
    ~UniqueHandle() noexcept(noexcept(std::invoke(destroy, std::declval<Held *>()))) {
        if (held_ != nullptr) {
            std::invoke(destroy, held_);
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
