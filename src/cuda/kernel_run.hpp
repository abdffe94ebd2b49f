// Strided copies by kernels of the library.
#pragma once

#include "cuda/stream_use.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// What enqueue_kernel would refuse; and loads the kernels, unless the stream is captured. For what must not be touched
// before all is well.
// Errors: VIA_ERROR_STREAM_CAPTURE; VIA_ERROR_DEVICE for a stream of another device than the memory's;
// VIA_ERROR_UNSUPPORTED for memory that no kernel reaches, or where there are none.
VIA_NODISCARD Status prepare_kernel(const Transfer &transfer, const StreamUse &use);

// Gives the stream the launch of a transfer that has loops, or another stream that it waits for: memory that the
// application has allocated in a context of its own is reached from there only.
VIA_NODISCARD Status enqueue_kernel(const Transfer &transfer, const StreamUse &use);

}  // namespace via::cuda
