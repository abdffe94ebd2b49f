// Strided copies between two devices. Each device's kernels keep to its own memory: peer access is the application's to
// switch on, and copies of bytes need none.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// `device_id` is that of the stream, which had better have all the work.
StridedPeerPlan plan_peer(const Transfer &transfer, int32_t device_id);

// Refuses streams of a third device, and a stream being captured where work of both devices is needed.
VIA_NODISCARD Status check_peers(const Transfer &transfer, const StridedPeerPlan &plan, const ResolvedStream &use);

// As prepare_kernel, for the part that is done on the stream's device.
VIA_NODISCARD Status prepare_peer_copy(const Transfer &transfer, const StridedPeerPlan &plan,
                                       const ResolvedStream &use);

// Gives the stream such a copy; on a stream being captured it is the only one. On failure what was given ends first.
// Errors: VIA_ERROR_UNSUPPORTED where a device has no kernels.
VIA_NODISCARD Status enqueue_strided_peer_copy(const Transfer &transfer, const StridedPeerPlan &plan,
                                               const ResolvedStream &use);

}  // namespace via::cuda
