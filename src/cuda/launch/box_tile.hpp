// Makes the parameters of the kernels of box.cuh for a tile: its lists of runs, its places in shared memory, and how
// threads share its words.
#pragma once

#include <span>

#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/kernel_plan.hpp"

namespace via::cuda {

// A tile, and the parameters as far as they are made.
struct BoxTile {
    const Shape *shape;
    Tile tile;
    kernels::BoxParams params;
    int32_t cuts[2];  // axes that are cut, or -1
    int32_t ndim;     // of the axes of which it has more than one index; those that are cut come last
    int32_t axes[VIA_MAX_NDIM + 1];
    int64_t word;         // bytes that are stored at once
    uint64_t of_columns;  // axes by number, as bits
    uint64_t of_src_runs;
    uint64_t of_src_rows;
    int64_t places[VIA_MAX_NDIM + 1];  // bytes in shared memory that an index of each axis adds
    int64_t src_alignment;
    int64_t dst_alignment;
    int32_t owned_axis;  // that runs of dst are cut along, at sectors; -1 if they are not
    int64_t more;        // indices of it that a tile loads and leaves to the next one
    double load_turns;   // of a thread, for a tile
    double store_turns;
    int32_t conflicts;  // words of one bank that a warp asks for

    std::span<const int32_t> in_order() const { return {axes, static_cast<size_t>(ndim)}; }
};

// Returns false if the tile does not fit the kernels. Leaves open how places and words are spread.
bool make_box_tile(const Shape &shape, const Tile &tile, BoxTile *out);

// Spreads places over the banks of shared memory, and words over threads.
void spread_box_tile(BoxTile *box);

// Returns the cycles that a warp takes to store a word of each lane.
double box_store_cycles(const BoxTile &box);

}  // namespace via::cuda
