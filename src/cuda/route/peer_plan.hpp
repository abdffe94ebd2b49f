// How a copy between two devices is done: a value made of its layout and of what the driver says of access, which can
// be printed and tested.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// What the devices reach, by peer access of the application's or by a pool that is open to them.
struct PeerReach {
    bool writes;   // the source's device: the destination
    bool reads;    // the destination's device: the source
    bool scratch;  // the source's device: scratch memory of the destination's
};

// Asks the driver. `device_id` is that of the stream: of adjacent bytes, what the other device reaches does not matter.
PeerReach find_reach(const Transfer &transfer, int32_t device_id);

// Prefers work on the stream's device.
PeerPlan plan_peer_copy(const Transfer &transfer, const PeerReach &reach, int32_t device_id);

// The same where nothing is reached: by the driver through the host's memory.
PeerPlan plan_unreached(const Transfer &transfer, int32_t device_id);

// The transfer in the order in which its pieces cross. Adjacent bytes are one run.
void make_peer_order(const Transfer &transfer, const PeerPlan &plan, PackedOrder *out_order);

// Bytes of the piece that is to cross next: large ones lose least at their beginnings, and the last ones are small,
// since nothing crosses while they are unpacked.
int64_t next_piece(const PeerPlan &plan, int64_t left);

// "direct, written by a kernel of device 0": at most `capacity` bytes.
void describe_peer(const Transfer &transfer, const PeerPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
