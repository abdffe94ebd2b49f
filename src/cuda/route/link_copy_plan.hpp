// Plans strided copies between the host and a device: where elements are packed, from the bytes that each part of the
// machine must move and its rate. A value made without a GPU, to be printed and tested.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// The means of a copy.
struct LinkMeans {
    bool pinned;  // the device reaches the host's memory
    bool host;    // the caller waits, so that the host may have a part
    bool kernels;
    bool scratch;
    int32_t workers;   // of a ring; 0: there is none
    double link = 54;  // bytes a nanosecond of adjacent pinned memory
};

// The route that is expected to take least.
struct LinkChoice {
    TransferPlan plan = BouncePlan{};
    double microseconds = 0;
};

// Plans a strided transfer of which one side is a device. Returns a BouncePlan if there are no means for anything else.
LinkChoice plan_link_copy(const Transfer &transfer, const LinkMeans &means);

// Bytes of a piece of a bounced copy: as many as the driver reads of pageable memory within the call.
constexpr int64_t kBounceBytes = int64_t{1} << 20;

// Return the order in which a transfer crosses by way of scratch memory, and the first piece that fits there. Later
// pieces are no larger.
PackedOrder make_link_order(const Transfer &transfer, LinkRoute route);
Slab first_piece(const PackedOrder &order, int64_t scratch_bytes);

// Describes a plan: "8192 rows of 1024 bytes by a copy engine, in 1 call".
void describe_link(const Transfer &transfer, const LinkCopyPlan &plan, TextBuffer *text);

}  // namespace via::cuda
