// How a copy is to be done: a value made without touching an element, which can be printed, tested, and then run.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via {

enum class LoopKind : int32_t {
    Contiguous,  // one run of bytes
    Rows,        // runs of bytes long enough to be copied as such
    Transpose,   // elements adjacent in dst along one axis, in src along another: blocks turned in registers
    Scratch,     // as Transpose, where these axes are short: blocks of more of them, by way of a scratch in the cache
    Tiles,       // as Transpose, where elements have gaps or odd sizes: blocks that stay in the cache
    Elements,    // element by element
    Repeat       // one element, again and again, to adjacent places
};

// A copy in normal form. Axes of extent 1 are gone, destination steps are positive and ascending, axes that continue
// one another in both arrays are one, and elements adjacent in both are a run. The first two axes are the panel, which
// kernels walk; the rest are walked around it, the last outermost. Large: axes past the panel and ndim are not set.
struct Plan {
    char *dst;
    const char *src;
    int64_t run;     // bytes adjacent in both
    int64_t nbytes;  // that are written
    int32_t ndim;
    int32_t trailing_bits;  // of packed elements after the last whole run, where they end inside a byte
    bool in_bits;     // of packed elements that do not come in whole bytes: run and steps are bits, no route is chosen
    int64_t dst_bit;  // in_bits: of the first element, behind dst and src
    int64_t src_bit;
    LoopKind loops;
    int32_t threads;    // that may work on it
    bool streaming;     // with stores that bypass the cache
    int64_t run_block;  // what a kernel is given at a time: bytes of the run
    int64_t block[2];   // and indices of the panel
    int32_t held[2];    // Scratch: how many of the last axes are walked whole within a block, beside the panel's two
    Axis axes[VIA_MAX_NDIM];
};

}  // namespace via
