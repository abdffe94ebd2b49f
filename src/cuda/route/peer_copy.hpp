// Strided copies between two devices. Each device's kernels keep to its own memory: peer access is the application's to
// switch on, and copies of bytes need none.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// How a strided copy between two devices is done: the elements go as one piece, into which a kernel of the source's
// device packs them, unless they lie so already, and out of which one of the destination's device unpacks them.
struct PeerPlan {
    Major major;
    bool packs;
    bool unpacks;
    int64_t piece_bytes;  // at most, on either device
};

// `device_id` is that of the stream, which had better have all the work.
PeerPlan plan_peer(const Transfer &transfer, int32_t device_id);

// Whether that takes a stream of the other device too.
bool needs_both_streams(const Transfer &transfer, const PeerPlan &plan, int32_t device_id);

// As prepare_kernel, for the part that is done on the stream's device.
VIA_NODISCARD Status prepare_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &use);

// Gives the stream such a copy; on a stream being captured it is the only one. On failure what was given ends first.
// Errors: VIA_ERROR_UNSUPPORTED where a device has no kernels.
VIA_NODISCARD Status enqueue_strided_peer_copy(const Transfer &transfer, const PeerPlan &plan, const ResolvedStream &use);

}  // namespace via::cuda
