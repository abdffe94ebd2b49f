// Loads the kernels of each context once, at via_cuda_warmup or at the first copy that needs one, and launches them.
#pragma once

#include "cuda/kernels/kernels.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns why the device runs none of the library's kernels, or "", as far as is known without loading them.
const char *why_no_kernels(int32_t device_id);
inline bool runs_kernels(int32_t device_id) { return *why_no_kernels(device_id) == '\0'; }

// Returns VIA_OK if the device has kernels for `what`, otherwise fails with VIA_ERROR_UNSUPPORTED and the reason. Loads
// nothing.
VIA_NODISCARD Status need_kernels(int32_t device_id, const char *what);

// Loads the context's kernels unless they are loaded. Loading waits for work of the context, so it is refused while the
// stream is being captured. Errors: VIA_ERROR_STREAM_CAPTURE; VIA_ERROR_UNSUPPORTED if the driver cannot load them.
VIA_NODISCARD Status load_kernels(const ResolvedStream &stream);

// Queues a launch, after load_kernels has succeeded. `params` points to the kernel's Params, which the call reads.
VIA_NODISCARD Status launch(kernels::Id kernel, uint32_t blocks, const void *params, const ResolvedStream &stream);

constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;  // of a launch

}  // namespace via::cuda
