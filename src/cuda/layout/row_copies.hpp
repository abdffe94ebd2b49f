// Strided copies by copy engines: rows of adjacent bytes, as many in one call as the driver takes.
#pragma once

#include "cuda/layout/packed_order.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// Returns the number of driver calls that a copy takes.
int64_t count_row_calls(const Move &move);

// Queues the copies of rows between a device and host memory.
VIA_NODISCARD Status enqueue_rows(const Move &move, bool to_device, const ResolvedStream &stream);

}  // namespace via::cuda
