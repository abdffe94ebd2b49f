// Lists of objects that live on the stacks of several threads. The GIL guards them.
#pragma once

#include <utility>

namespace viapy {

// Puts an object on the list of its class, Self, as long as it lives. A child that was forked meanwhile forgets the
// list, since it has none of the other threads.
template <class Self>
class ScopeList {
public:
    ScopeList() : next_(std::exchange(first_, this)) {}
    ~ScopeList() {
        ScopeList **link = &first_;
        while (*link != nullptr && *link != this) {
            link = &(*link)->next_;
        }
        if (*link != nullptr) {
            *link = next_;
        }
    }
    ScopeList(const ScopeList &) = delete;
    ScopeList &operator=(const ScopeList &) = delete;

    template <class Visit>
    static void for_each(const Visit &visit) {
        for (ScopeList *at = first_; at != nullptr; at = at->next_) {
            visit(*static_cast<Self *>(at));
        }
    }

    static void forget() { first_ = nullptr; }

private:
    inline static ScopeList *first_ = nullptr;
    ScopeList *next_;
};

}  // namespace viapy
