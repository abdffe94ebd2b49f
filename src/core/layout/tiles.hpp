// Cuts strided copies into tiles, for the host and for the GPU alike.
//
// How it works. An array that is walked along its small steps gives whole sectors (cache lines on the host); walked
// along another axis it gives one element of each. Few copies have the same small steps on both sides. So the axes
// that are fast in dst, and those that are fast in src, are merged, each as far as it takes until a run of adjacent
// bytes is long enough. A tile is the product of both: within it src is read in runs of its own and dst is written in
// runs of its own, by way of memory that is near. An axis may belong to both runs, as the channels of an image do; a
// tile that is all of one run on both sides is a row. What is outside of the tile is a loop over tiles.
#pragma once

#include <cstdint>

#include "core/layout/axis.hpp"
#include "viaduct/viaduct.h"

namespace via {

// A copy as tiles are cut from it. Steps are in bytes; dst_step is positive and ascends, extents are 2 and more.
// src_step is 0 along an axis that src repeats.
struct TileProblem {
    const Axis *axes;
    int32_t ndim;
    int64_t item;    // bytes of an element
    int64_t sector;  // bytes that the machine's memory moves at once
};

// The runs of one side of a tile.
struct TileRuns {
    int32_t ndim;
    int32_t axes[VIA_MAX_NDIM];  // that a run goes along, the fastest first; only the last may be cut
    int64_t span;                // bytes from a run's first to behind its last, gaps included
    int64_t count;               // runs in a tile
};

struct Tile {
    int64_t extent[VIA_MAX_NDIM];  // indices of each axis within a whole tile; 1 where the loop alone has it
    int64_t elements;
    TileRuns dst;
    TileRuns src;
};

// How long runs should be, in bytes, and what a tile may have: elements, and bytes of src with their gaps. `widen`:
// runs that are long enough are joined by further runs, along the axes that are left, until the tile has as much as it
// may.
struct TileTarget {
    int64_t dst_span;
    int64_t src_span;
    int64_t most;
    int64_t most_bytes = 0;
    bool widen = false;
};

// Grows a tile to the target, as far as the axes continue one another; dst comes first.
void grow_tile(const TileProblem &problem, const TileTarget &target, Tile *out_tile);

// Sectors that one side's runs touch in a tile, on average over where they begin. `alignment`: bytes that every run's
// address is a multiple of.
double count_sectors(const TileProblem &problem, const TileRuns &runs, int64_t alignment);

// Tiles of the whole copy, those cut short at the ends included.
int64_t count_tiles(const TileProblem &problem, const Tile &tile);

}  // namespace via
