// The __cuda_array_interface__, version 3.
#pragma once

#include "exchange/array_interface.hpp"

namespace via {

// Makes `stream` wait until the array is ready, and names it in the description: NULL is the legacy stream, no_sync
// none.
VIA_NODISCARD Status order_description(via_array *array, via_stream *stream, via_array_interface *description);

// The same for device memory, whose place the driver tells. Memory without elements is taken as device 0's.
VIA_NODISCARD Status read_cuda_interface(const via_array_interface &description, ArraySpec *out_spec);

// The array just taken is ready after the stream that the description names.
VIA_NODISCARD Status follow_description(via_array *array, const via_array_interface &description);

}  // namespace via
