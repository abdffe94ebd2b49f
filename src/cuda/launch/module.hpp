// The kernels of each context: loaded once, at via_cuda_warmup or when the first copy needs one.
#pragma once

#include "cuda/kernels/kernels.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Why the device runs none of the library's kernels, in a few words; "" if it does, as far as can be told without
// loading them. Then the driver's copies serve.
const char *why_no_kernels(int32_t device_id);

// VIA_OK if `what` can be had of a kernel; else VIA_ERROR_UNSUPPORTED with the reason. Loads nothing.
VIA_NODISCARD Status need_kernels(int32_t device_id, const char *what);

// Makes sure that the context's kernels are loaded. Loading waits for work of the context, so it is not done while the
// stream is captured. Errors: VIA_ERROR_STREAM_CAPTURE; VIA_ERROR_UNSUPPORTED where the driver cannot load them.
VIA_NODISCARD Status load_kernels(const ResolvedStream &use);

// Gives the stream a launch; load_kernels has said yes. `params` is the kernel's Params, read by the call.
VIA_NODISCARD Status launch(kernels::Id kernel, uint32_t blocks, const void *params, const ResolvedStream &use);

}  // namespace via::cuda
