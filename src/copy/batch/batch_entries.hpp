// The arrays of a batch. Shared by the batch and what is made of it, which looks at as many as there were then, so that
// the batch may add behind them.
#pragma once

#include "copy/batch/batch_plan.hpp"

namespace via {

// Followed in its block by `capacity` destinations and as many sources, which it holds.
struct Entries {
    ReferenceCount references;
    int32_t count;
    int32_t capacity;

    via_array **dsts() { return reinterpret_cast<via_array **>(this + 1); }
    via_array **srcs() { return dsts() + capacity; }
    Pairs pairs(int32_t first) { return {first, dsts(), srcs()}; }

    void append(via_array *dst, via_array *src) {
        retain_array(dst);
        retain_array(src);
        dsts()[count] = dst;
        srcs()[count++] = src;
    }
};

// nullptr if there is no memory.
Entries *make_entries(int32_t capacity);

void release_entries(Entries *entries);

}  // namespace via
