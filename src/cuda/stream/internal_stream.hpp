// Streams of the library's own.
#pragma once

#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// A non-blocking stream of the library's own in the device's primary context, for staging and for freeing; made when
// first asked for, and again if the context was reset. `number` tells several apart.
constexpr int32_t kInternalStreams = via_max_internal_streams;

VIA_NODISCARD Status internal_stream(int32_t device_id, int32_t number, ResolvedStream *out_use);

}  // namespace via::cuda
