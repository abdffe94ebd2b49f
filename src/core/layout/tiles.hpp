// Cuts strided copies into tiles, for the host and for the GPU alike.
//
// How it works
//
// A walk along an array's small steps uses whole sectors (cache lines on the host). A walk along another axis uses one
// element of each sector. Few copies have the same small steps on both sides.
//
// grow_tile therefore collects two sets of axes: those that are fast in dst, and those that are fast in src, each until
// its run of adjacent bytes is long enough. A tile is the product of both. Within it src is read in runs of its own,
// and dst is written in runs of its own, through memory that is near (registers, a cache, shared memory). An axis may
// belong to both runs, as the channels of an image do. A tile that is a single run on both sides is a row. The axes
// outside the tile become a loop over tiles.
#pragma once

#include <cstdint>

#include "core/base/rounding.hpp"
#include "core/layout/axis.hpp"
#include "viaduct/viaduct.h"

namespace via {

// Describes a copy to be cut. Steps are in bytes; dst_step is positive and ascends, extents are 2 or more. src_step is
// 0 along an axis that src repeats.
struct TileProblem {
    const Axis *axes;
    int32_t ndim;
    int64_t item;    // bytes of an element
    int64_t sector;  // bytes of a memory transaction
};

// Runs of one side of a tile.
struct TileRuns {
    int32_t ndim;
    int32_t axes[VIA_MAX_NDIM];  // of a run, the fastest first; only the last may be cut
    int64_t span;                // bytes of a run, gaps included
    int64_t count;               // runs in a tile
};

struct Tile {
    int64_t extent[VIA_MAX_NDIM];  // indices of each axis within a whole tile; 1 for an axis of the loop
    int64_t elements;
    TileRuns dst;
    TileRuns src;
};

// What a tile does with room that is left: nothing, more runs along the remaining axes, or longer runs first.
enum class TileFill : int32_t { None, MoreRuns, LongerRuns };

// States the wanted length of runs in bytes, and the limits of a tile: elements, and bytes of src with their gaps.
struct TileTarget {
    int64_t dst_span;
    int64_t src_span;
    int64_t most;
    int64_t most_bytes = 0;
    TileFill fill = TileFill::None;
};

// Returns whether src is walked through in the order of dst. No run is come back to, so that tiles gain nothing.
bool goes_in_one_order(const Axis *axes, int32_t ndim);

// Grows a tile to the target, as far as the axes continue one another; dst comes first.
void grow_tile(const TileProblem &problem, const TileTarget &target, Tile *out_tile);

// Counts the sectors that one side's runs touch in a tile, on average over their start. `alignment` divides the address
// of every run.
double count_sectors(const TileProblem &problem, const TileRuns &runs, int64_t alignment);

// Counts the tiles of the whole copy, including those cut short at the ends.
int64_t count_tiles(const TileProblem &problem, const Tile &tile);

}  // namespace via
