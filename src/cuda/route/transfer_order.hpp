// What transfers of every kind wait for, and what waits for them.
#pragma once

#include "cuda/stream/resolved_stream.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// Resolves the stream of a transfer, as resolve() does. `what` needs CUDA. Errors: VIA_ERROR_UNSUPPORTED without it.
VIA_NODISCARD Status resolve_for(const Transfer &transfer, const char *what, via_stream *stream,
                                 ResolvedStream *out_stream);

// Wait until both arrays are ready, if there are any: on the host, or on the stream.
VIA_NODISCARD Status wait_for_arrays(const Transfer &transfer);
VIA_NODISCARD Status wait_for_arrays(const Transfer &transfer, const ResolvedStream &stream);

// Makes the stream wait for the legacy stream of the other device, if the transfer is between two.
VIA_NODISCARD Status follow_other_device(const Transfer &transfer, const ResolvedStream &stream);

}  // namespace via::cuda
