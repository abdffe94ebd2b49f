// A strided transfer in the order in which its bytes cross the link, or go from one device to another. They are packed
// on the way: the loops of one side's memory, the innermost first, number them from 0 on. What lies between two numbers
// is a slab, if it is cut at the right ones: whole inner loops, a part of one loop, single indices of the outer ones.
#pragma once

#include "cuda/move.hpp"
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
    // Not packed: the bytes between the elements of the source cross too. Then the order is the source's, and no step
    // of its is negative.
    bool raw;
    int32_t ndim;            // of the loops that cross, the first of which counts adjacent bytes
    int32_t broadcast_axes;  // of those behind them, in which the source stands still: each of its bytes crosses once
    Loop loops[VIA_MAX_NDIM + 1];
};

// The transfer has loops. `broadcast_is_packed`: nobody on the other side can write a byte twice.
void make_packed_order(const Transfer &transfer, Major major, bool broadcast_is_packed, PackedOrder *out_order);

struct Slab {
    int32_t level;   // the loop of which it is a part
    int64_t offset;  // where it begins, and its bytes, both numbered as packed
    int64_t nbytes;
};

// What lies between two cuts.
Slab slab_of(const PackedOrder &order, int64_t offset, int64_t nbytes);

inline Slab whole(const PackedOrder &order) { return {order.ndim - 1, 0, order.nbytes}; }

// The slab that begins at the cut `offset`, ends at the cut `end` or before, and has about `wanted` bytes; more than
// that, and no more than `most`, only where it would else have far fewer.
Slab cut_slab(const PackedOrder &order, int64_t offset, int64_t end, int64_t wanted, int64_t most);

// Bytes that a buffer needs for a slab.
int64_t buffer_bytes(const PackedOrder &order, const Slab &slab);

// A slab from the source into a buffer, and out of a buffer into the destination.
void make_packing(const PackedOrder &order, const Slab &slab, void *buffer, Move *out_move);
void make_unpacking(const PackedOrder &order, const Slab &slab, const void *buffer, Move *out_move);

}  // namespace via::cuda
