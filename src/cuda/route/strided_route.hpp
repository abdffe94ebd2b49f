// The ways of what is strided, but for that through the ring.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/route/copy_route.hpp"

namespace via::cuda {

constexpr bool is_strided(CopyRoute route) { return route >= CopyRoute::Kernel; }

// What enqueue_strided would refuse, and whatever else may fail or have to wait before anything is touched.
// Errors: VIA_ERROR_DEVICE, VIA_ERROR_STREAM_CAPTURE, VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status prepare_strided(const Transfer &transfer, CopyRoute route, const ResolvedStream &use);

// Gives it to the stream. Bounced: what the host has a part in is done on return.
VIA_NODISCARD Status enqueue_strided(const Transfer &transfer, CopyRoute route, const ResolvedStream &use);

}  // namespace via::cuda
