// Strided copies between the host and a device: in stream order from pinned memory, or by way of a buffer.
#pragma once

#include "cuda/route/link_copy_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// Queues a plan of Rows, Packed or Raw. On failure, waits for what was queued.
VIA_NODISCARD Status enqueue_pinned(const Transfer &transfer, const LinkCopyPlan &plan, const ResolvedStream &stream);

// Strided copies that are too small for the ring, or without one. The calling thread does what the ring's workers
// would, by way of a small buffer or none. Copies in stream order. The stream must not be capturing. Call with the
// stream's context entered and in relaxed capture mode. A pageable source has been read on return, and a destination of
// the host written.
VIA_NODISCARD Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &stream);

// Does the same of a staged copy in which no kernel has a part.
VIA_NODISCARD Status bounce(const StagedCopy &copy, const ResolvedStream &stream);

}  // namespace via::cuda
