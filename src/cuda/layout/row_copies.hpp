// Strided copies by the device's copy engines: rows of adjacent bytes, as many of them in one call as the driver takes.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// How many calls of the driver a copy takes.
int64_t count_row_calls(const Move &move);

// Gives the stream the copies of rows between a device and host memory, in this direction.
VIA_NODISCARD Status enqueue_rows(const Move &move, bool to_device, const ResolvedStream &use);

}  // namespace via::cuda
