// Fences of streams: points that a stream's work reaches, kept by pooled events.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// A pooled, untimed event recorded now on the stream, which must not be capturing. Retained for the caller.
VIA_NODISCARD Status record_fence(const ResolvedStream &use, Fence **out_fence);

// Makes what one stream is given from now on wait for what another one has been given so far; neither may be capturing.
VIA_NODISCARD Status follow(const ResolvedStream &later, const ResolvedStream &earlier);

}  // namespace via::cuda
