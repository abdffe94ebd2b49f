// Fences of streams: points in a stream, recorded by pooled events.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Records a fence on the stream, retained for the caller. One that is recorded in a capture serves only
// make_stream_wait, on streams of that capture.
VIA_NODISCARD Status record_fence(const ResolvedStream &stream, Fence **out_fence);

// Records a fence, or waits for the stream's work if none can be recorded. *out_fence is then left as it is.
VIA_NODISCARD Status record_or_wait(const ResolvedStream &stream, Fence **out_fence);

// Makes later work of a stream wait for a fence of record_fence, whether that is complete or not.
VIA_NODISCARD Status make_stream_wait(const ResolvedStream &later, Fence *earlier);

// Makes later work of one stream wait for the work of another one so far. If the earlier one is being captured, the
// later one joins the capture.
VIA_NODISCARD Status follow(const ResolvedStream &later, const ResolvedStream &earlier);

}  // namespace via::cuda
