// Strided copies that are too small for the ring, or for which there is none: the host gathers a part of the elements
// into memory of its own, or scatters them from there, and the driver copies it.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// In the order of the stream, which is not being captured: the source has been read on return, and what is copied to
// the host has arrived.
VIA_NODISCARD Status copy_bounced(const Transfer &transfer, const BouncePlan &plan, const ResolvedStream &use);

// How many calls of the driver that takes.
int64_t count_bounce_calls(const Transfer &transfer, const BouncePlan &plan);

}  // namespace via::cuda
