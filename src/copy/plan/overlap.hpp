// Decides whether two strided sets of runs of bytes share a byte: exactly, with a bound on the effort.
#pragma once

#include <cstdint>

#include "core/layout/axis.hpp"

namespace via {

enum class Overlap : int32_t {
    None,
    Found,
    Unknown  // the effort allowed did not suffice
};

// Runs of `run` bytes each, at start + i0 * step0 + i1 * step1 + ... bytes.
struct RunSet {
    struct Index {
        int64_t extent;
        int64_t step;
    };

    RunSet(int64_t first, int64_t nbytes) : start(first), run(nbytes) {}

    // Has an index for each axis, by the steps of one array.
    RunSet(int64_t first, int64_t nbytes, const Axis *axes, int32_t ndim, int64_t Axis::*step) : RunSet(first, nbytes) {
        for (int32_t i = 0; i < ndim; ++i) {
            add(axes[i].extent, axes[i].*step);
        }
    }

    // Adds an index of 0 to extent - 1; at most kCapacity of them.
    void add(int64_t extent, int64_t step) { indices[count++] = {extent, step}; }

    static constexpr int32_t kCapacity = 64;
    int64_t start;
    int64_t run;
    int32_t count = 0;
    Index indices[kCapacity];
};

// Returns whether some run of `a` shares a byte with some run of `b`.
Overlap find_overlap(const RunSet &a, const RunSet &b);

// Returns whether two runs of the set, at different indices, share a byte.
Overlap find_self_overlap(const RunSet &set);

}  // namespace via
