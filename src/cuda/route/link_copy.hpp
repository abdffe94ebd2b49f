// Strided copies between the host and a device: in stream order from page-locked memory, or by way of a buffer.
#pragma once

#include "cuda/route/link_copy_plan.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// Queues a plan of Rows, Packed or Raw. On failure, waits for what was queued.
VIA_NODISCARD Status enqueue_pinned(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream);

// Strided copies that are too small for the ring, or without one. The calling thread gathers elements into a buffer or
// scatters them from there, and the driver copies the buffer. Copies in stream order. The stream must not be capturing.
// A pageable source has been read on return, and a pageable destination written.
VIA_NODISCARD Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &stream);

// Returns the number of driver calls that takes.
int64_t count_bounce_calls(const Transfer &transfer, const BouncePlan &plan);

}  // namespace via::cuda
