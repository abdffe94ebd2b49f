// How a strided copy between page-locked memory and a device is done: a value made without a GPU, which can be printed
// and tested.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// What there is to do it with.
struct PinnedMeans {
    bool kernels;
    bool scratch;
    bool workers;  // a ring, and a caller who waits
};

// The transfer is strided, and one of its sides is a device. Staged where there are no means for anything else.
void plan_pinned_copy(const Transfer &transfer, const PinnedMeans &means, PinnedCopyPlan *out_plan);

// The order in which a transfer crosses by way of scratch memory, and the first piece of it for which that has room; no
// later one needs more.
void make_pinned_order(const Transfer &transfer, PinnedRoute route, PackedOrder *out_order);
Slab first_piece(const PackedOrder &order, int64_t scratch_bytes);

// The transfer as one move.
void make_move(const Transfer &transfer, Move *out_move);

// "8192 rows of 1024 bytes by a copy engine, in 1 call", of a plan that is neither Kernel nor Staged: at most
// `capacity` bytes.
void describe_pinned(const Transfer &transfer, const PinnedCopyPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
