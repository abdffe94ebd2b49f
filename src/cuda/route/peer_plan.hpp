// Plans copies between two devices, from the layout and the access that the driver reports: a value to be printed and
// tested.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// The memory that devices reach, by the application's peer access or by a pool that is open to them.
struct PeerReach {
    bool writes;   // the source's device: the destination
    bool reads;    // the destination's device: the source
    bool scratch;  // each device: scratch memory of the other
};

// Asks the driver. `device_id` is that of the stream. For adjacent bytes the other device's reach does not matter.
PeerReach find_reach(const Transfer &transfer, int32_t device_id);

// Returns whether the driver copies, whatever is reached.
bool is_left_to_driver(const Transfer &transfer);

// Plans a copy. Prefers work on the stream's device.
PeerPlan plan_peer_copy(const Transfer &transfer, const PeerReach &reach, int32_t device_id);

// Plans a copy between devices that reach nothing of each other: by the driver through host memory.
PeerPlan plan_unreached(const Transfer &transfer, int32_t device_id);

// Plans a copy in pieces through scratch memory of one device that the other reaches, in the order of one side's
// memory. Where bytes lie packed in that order, a copy engine moves them. Pieces can be pulled where all bytes of dst
// do.
PeerPlan plan_pieces(const Transfer &transfer, Major major, bool pulled);

// Plans a copy in pieces that kernels of both devices pack and unpack. `direct`: the source's device reaches scratch
// memory of the destination's.
PeerPlan plan_packed_pieces(bool direct);

// Makes the order in which the pieces of a transfer cross.
PackedOrder make_peer_order(const Transfer &transfer, const PeerPlan &plan);

// Returns the bytes of the next piece. Large pieces lose least at their beginnings. The last ones are small, since
// nothing crosses while they are unpacked: the smaller the longer that takes. Where pieces are pulled, the first ones
// are, since nothing crosses while they are packed.
int64_t next_piece(const PeerPlan &plan, int64_t nbytes, int64_t offset);

// Returns the bytes of the largest piece.
int64_t largest_piece(const PeerPlan &plan, int64_t nbytes);

// Describes the plan: "direct, written by a kernel of device 0".
void describe_peer(const Transfer &transfer, const PeerPlan &plan, TextBuffer *text);

}  // namespace via::cuda
