// What a kernel is given. Plain structs only: the files compiled for newer processors include this one, and any inline
// function they had in common with the rest of the library could end up as the copy that older processors run.
#pragma once

#include <cstdint>

#include "core/layout/axis.hpp"

namespace via {

// `run` bytes for each index of two loops.
struct Piece {
    char *dst;
    const char *src;
    int64_t run;
    Axis inner;
    Axis outer;
    // How many more indices the whole copy has on either side along the inner axis: kernels that write whole cache
    // lines leave the line they start in to the piece before, and finish the one they end in.
    int64_t before;
    int64_t after;
};

using Kernel = void (*)(const Piece &piece);

}  // namespace via
