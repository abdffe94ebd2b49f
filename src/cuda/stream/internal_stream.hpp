// Internal streams.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns a non-blocking stream in the device's primary context, for staging, tasks and frees. Makes it at the first
// call, and again after a reset of the context.
constexpr int32_t kInternalStreams = via_max_internal_streams;

VIA_NODISCARD Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_stream);

}  // namespace via::cuda
