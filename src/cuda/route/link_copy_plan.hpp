// How a strided copy between the host and a device is done: where its elements are packed, by the bytes that each place
// must move and the rate at which it does. A value made without a GPU, which can be printed and tested.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// What there is to do it with.
struct LinkMeans {
    bool pinned;  // the device reaches the host's memory
    bool host;    // the caller waits, so that the host may have a part
    bool kernels;
    bool scratch;
    int32_t workers;  // of a ring; 0: there is none
};

// The transfer is strided, and one of its sides is a device. Bounced where there are no means for anything else.
LinkCopyPlan plan_link_copy(const Transfer &transfer, const LinkMeans &means);

// Without the ring, in the order of the device's memory, which takes the fewest calls.
BouncePlan plan_bounce(const Transfer &transfer);

// The order in which a transfer crosses by way of scratch memory, and the first piece of it for which that has room; no
// later one needs more.
void make_link_order(const Transfer &transfer, LinkRoute route, PackedOrder *out_order);
Slab first_piece(const PackedOrder &order, int64_t scratch_bytes);

// "8192 rows of 1024 bytes by a copy engine, in 1 call", of Rows, Packed and Raw: at most
// `capacity` bytes.
void describe_link(const Transfer &transfer, const LinkCopyPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
