// Strided copies by kernels of the library.
#pragma once

#include <algorithm>

#include "core/base/rounding.hpp"
#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/event_fence.hpp"

namespace via::cuda {

// A GPU reads and writes memory, its own and across a link, by sectors of so many bytes.
constexpr int64_t kSectorBytes = 32;

// Kernels copy up to this many bytes element by element, in the order of dst, unless tiles are clearly better: the
// second-level cache holds both sides.
// Across a link each warp then makes requests of its own 32 elements.
constexpr int64_t kMostByElements = int64_t{2} << 20;
constexpr int64_t kElementsOfWarp = 32;
constexpr int64_t element_of(const Transfer &transfer) {
    constexpr int64_t kMost = 16;
    return std::min(alignment_in(static_cast<uint64_t>(transfer.run)), kMost);
}

// Refuses a stream of another device. A kernel reaches another device's memory only with peer access, which only the
// application may switch on. Errors: VIA_ERROR_DEVICE.
VIA_NODISCARD Status check_device_of_stream(const Transfer &transfer, const ResolvedStream &stream);

// Refuses what enqueue_kernel would refuse, before anything is touched. Loads the kernels, unless the stream is being
// captured. Errors: VIA_ERROR_STREAM_CAPTURE; VIA_ERROR_DEVICE for a stream of another device; VIA_ERROR_UNSUPPORTED
// for memory that no kernel reaches, and for a device without kernels.
VIA_NODISCARD Status prepare_kernel(const Transfer &transfer, const ResolvedStream &stream);

// Does the same. Also stores the stream that the kernel would run on.
VIA_NODISCARD Status prepare_kernel(const Transfer &transfer, const ResolvedStream &stream, ResolvedStream *out_home);

// Queues the kernel of a transfer that has loops. Launches it on another stream, and makes this one wait, if only
// another context reaches the memory: one that the application has allocated in.
VIA_NODISCARD Status enqueue_kernel(const Transfer &transfer, const ResolvedStream &stream,
                                    FarSide far_side = FarSide::None);

// Makes the stream wait for the work of another one, or waits for it on the host if it cannot.
VIA_NODISCARD Status follow_or_wait(const ResolvedStream &stream, const ResolvedStream &other);

// Calls launch(home) as enqueue_kernel launches: on the stream, or on another one that reaches the memory.
template <class Launch>
VIA_NODISCARD Status launch_where_reached(const Transfer &transfer, const ResolvedStream &stream,
                                          const Launch &launch) {
    ResolvedStream home;
    VIA_TRY(prepare_kernel(transfer, stream, &home));
    if (home.context == stream.context) [[likely]] {
        return launch(stream);
    }
    VIA_TRY(follow(home, stream));
    VIA_TRY(launch(home));
    return follow_or_wait(stream, home);
}

// Returns whether a kernel on the stream itself reaches all device memory of the transfer.
bool reaches_memory(const Transfer &transfer, const ResolvedStream &stream);

// Does the same, or lets the driver do a transfer without loops: a move between a side and a buffer, pinned or of a
// pool.
VIA_NODISCARD Status enqueue_move(const Transfer &transfer, const ResolvedStream &stream,
                                  FarSide far_side = FarSide::None);

}  // namespace via::cuda
