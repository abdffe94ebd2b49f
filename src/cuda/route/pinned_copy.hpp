// Strided copies between page-locked memory and a device in the order of a stream.
#pragma once

#include "cuda/route/link_copy_plan.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Queues a plan of Rows, Packed or Raw. On failure, waits for what was queued.
VIA_NODISCARD Status enqueue_pinned(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream);

}  // namespace via::cuda
