// One loop of a strided copy. Plain numbers only: files compiled for newer processors and GPU kernels include it.
#pragma once

#include <cstdint>

namespace via {

// Number of iterations, and bytes by which each array's address moves.
struct Axis {
    int64_t extent;
    int64_t dst_step;
    int64_t src_step;

    bool operator==(const Axis &) const = default;
};

}  // namespace via
