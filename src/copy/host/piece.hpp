// What a kernel is given. Plain structs only: the files compiled for newer processors include this one, and any inline
// function they had in common with the rest of the library could end up as the copy that older processors run.
#pragma once

#include <cstdint>

#include "core/layout/axis.hpp"

namespace via {

// `run` bytes for each index of some loops, of which the first two are the panel.
struct Piece {
    char *dst;
    const char *src;
    int64_t run;
    const Axis *axes;  // the innermost first, two at least
    int32_t ndim;
    int64_t ahead;  // how far away the source of the next piece is, which is read ahead; 0 if there is none
};

using Kernel = void (*)(const Piece &piece);

}  // namespace via
