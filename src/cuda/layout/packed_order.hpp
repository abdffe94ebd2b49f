// The order in which the bytes of a strided transfer cross a link. They are packed on the way: the loops of one side's
// memory, the innermost first, number them from 0 on. A slab is a range of numbers that is one strided move: whole
// inner loops, a part of one loop, and single indices of the outer ones.
#pragma once

#include "cuda/transfer_plan.hpp"

namespace via::cuda {

struct PackedOrder {
    struct Loop {
        int64_t extent;
        int64_t dst_step;
        int64_t src_step;
        int64_t unit;  // bytes that cross for one index
    };

    char *dst;
    const char *src;
    int64_t nbytes;  // that cross
    // Set if the bytes between the elements of the source cross too. The order is then the source's, with steps that
    // are not negative.
    bool raw;
    int32_t ndim;            // of the loops that cross, the first of which counts adjacent bytes
    int32_t broadcast_axes;  // of those behind them, in which the source stands still: each of its bytes crosses once
    Loop loops[VIA_MAX_NDIM + 1];
};

// Makes one move of a transfer.
Move make_move(const Transfer &transfer);

// Makes the order of a transfer; without loops it is one run. `broadcast_is_packed`: broadcast elements cross as often
// as they are written, since the other side cannot repeat them.
PackedOrder make_packed_order(const Transfer &transfer, Major major, bool broadcast_is_packed);

// The layout of one side's memory in its own order.
struct SideRows {
    int64_t run;        // adjacent bytes
    int64_t step;       // from one such run to the next
    bool in_dst_order;  // neighbours in the destination are neighbours there
};

SideRows find_rows(const Transfer &transfer, Major side);

struct Slab {
    int32_t level;   // the loop of which it is a part
    int64_t offset;  // where it begins, and its bytes, both numbered as packed
    int64_t nbytes;
};

// Returns the slab between two cuts.
Slab slab_of(const PackedOrder &order, int64_t offset, int64_t nbytes);

inline Slab whole(const PackedOrder &order) { return {order.ndim - 1, 0, order.nbytes}; }

// Returns a slab of about `wanted` bytes that begins at the cut `offset` and ends at the cut `end` or before. It has
// more, up to `most`, only if it would otherwise have far fewer.
Slab cut_slab(const PackedOrder &order, int64_t offset, int64_t end, int64_t wanted, int64_t most);

// Returns the bytes that a buffer needs for a slab.
int64_t buffer_bytes(const PackedOrder &order, const Slab &slab);

// Make the moves of a slab: from the source into a buffer, and from a buffer into the destination.
Move make_packing(const PackedOrder &order, const Slab &slab, void *buffer);
Move make_unpacking(const PackedOrder &order, const Slab &slab, const void *buffer);

}  // namespace via::cuda
