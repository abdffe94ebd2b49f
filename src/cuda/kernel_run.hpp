// Strided copies by kernels of the library.
#pragma once

#include "cuda/stream_use.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

// Gives the stream the launches of a transfer that has loops, all of whose memory the stream's device reaches by
// address; load_kernels has said yes.
VIA_NODISCARD Status enqueue_kernel(const Transfer &transfer, const StreamUse &use);

}  // namespace via::cuda
