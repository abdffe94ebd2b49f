// The plan of a copy on the host: a value made without touching an element, to be printed, tested, and then run.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/layout/axis.hpp"

namespace via {

// A loop over tiles: their number and distance. It walks an axis of the plan, or the run.
struct TileLoop {
    static constexpr int32_t kRun = -1;
    Axis axis;
    int32_t of;
};

// A copy in normal form. Axes of extent 1 are gone, and destination steps are positive and ascending. Axes that
// continue one another in both arrays are merged, and elements adjacent in both are a run. Elements past a count are
// not set.
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

    // Set by choose_tiles.
    int32_t threads;              // that may work on it
    bool parts_dst;               // each takes whole steps of the outermost loop, along which dst moves far
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
