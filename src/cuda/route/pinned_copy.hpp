// Strided copies between page-locked memory and a device in the order of a stream.
#pragma once

#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Gives the stream all that the plan says, which is neither Kernel nor Staged. On failure what it was given ends first.
VIA_NODISCARD Status enqueue_pinned(const Transfer &transfer, const PinnedCopyPlan &plan, const ResolvedStream &use);

}  // namespace via::cuda
