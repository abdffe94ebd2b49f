// Strided copies by kernels of the library.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// A kernel reaches another device's memory only with peer access, which is the application's to switch on.
// Errors: VIA_ERROR_DEVICE.
VIA_NODISCARD Status check_device_of_stream(const Transfer &transfer, const ResolvedStream &use);

// What enqueue_kernel would refuse; and loads the kernels, unless the stream is captured. For what must not be touched
// before all is well.
// Errors: VIA_ERROR_STREAM_CAPTURE; VIA_ERROR_DEVICE for a stream of another device than the memory's;
// VIA_ERROR_UNSUPPORTED for memory that no kernel reaches, or where there are none.
VIA_NODISCARD Status prepare_kernel(const Transfer &transfer, const ResolvedStream &use);

// Gives the stream the launch of a transfer that has loops, or another stream that it waits for: memory that the
// application has allocated in a context of its own is reached from there only.
VIA_NODISCARD Status enqueue_kernel(const Transfer &transfer, const ResolvedStream &use);

// Whether a kernel on the stream itself reaches all memory of the device's that the transfer names.
bool reaches_memory(const Transfer &transfer, const ResolvedStream &use);

// The same for a move between a side and a buffer, page-locked or of a pool. The move may have no loops: then the
// driver does it.
VIA_NODISCARD Status enqueue_packing(const Move &move, const Side &src_side, const ResolvedStream &use);
VIA_NODISCARD Status enqueue_unpacking(const Move &move, const Side &dst_side, const ResolvedStream &use);

}  // namespace via::cuda
