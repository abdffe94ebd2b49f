// How a copy is to be done: a value made without touching an element, which can be printed, tested, and then run.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via {

// A loop over tiles: how many there are, and how far apart. It walks an axis of the plan, or the run.
struct TileLoop {
    static constexpr int32_t kRun = -1;
    Axis axis;
    int32_t of;
};

// A copy in normal form. Axes of extent 1 are gone, destination steps are positive and ascending, axes that continue
// one another in both arrays are one, and elements adjacent in both are a run. Large: what lies past a count is not
// set.
struct Plan {
    char *dst;
    const char *src;
    int64_t run;     // bytes adjacent in both
    int64_t nbytes;  // that are written
    int32_t ndim;
    int32_t trailing_bits;  // of packed elements after the last whole run, where they end inside a byte
    bool in_bits;     // of packed elements that do not come in whole bytes: run and steps are bits, no tile is chosen
    int64_t dst_bit;  // in_bits: of the first element, behind dst and src
    int64_t src_bit;
    Axis axes[VIA_MAX_NDIM];

    // What choose_tiles decides.
    int32_t threads;              // that may work on it
    bool streaming;               // with stores that bypass the cache
    bool by_rows;                 // a tile is put together in a scratch, as rows that are then written one by one
    bool squeezes;                // its elements are first brought together, without the gaps of src
    int32_t row_ndim;             // by_rows: axes of the tile that a row goes along, from the first on
    int64_t run_block;            // of the run, within a tile
    int64_t block[VIA_MAX_NDIM];  // indices of each axis within a tile
    int32_t loop_ndim;
    TileLoop loops[VIA_MAX_NDIM + 1];  // around the tile, innermost first
};

}  // namespace via
