// One loop of a strided copy. Names nothing but plain numbers: the files compiled for newer processors include it, and
// so do the kernels of the GPU.
#pragma once

#include <cstdint>

namespace via {

// How many times, and by how many bytes each array's address moves.
struct Axis {
    int64_t extent;
    int64_t dst_step;
    int64_t src_step;
};

}  // namespace via
