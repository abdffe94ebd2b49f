// NumPy's __array_interface__ and the __cuda_array_interface__, version 3: one description for host and device memory.
#pragma once

#include "core/array/array.hpp"

namespace via {

// Describes the array for either protocol, which have the same fields. Zero-initialise *description.
VIA_NODISCARD Status describe_interface(via_array *array, via_array_interface *description);

// Reads a description; the pointers of the spec are into `description`, which must be complete (see read_struct).
VIA_NODISCARD Status read_interface(const via_array_interface &description, ArraySpec *out_spec);

// Makes `stream` wait until the array is ready, and names it in the description. NULL means the legacy stream; no_sync
// orders nothing and names none.
VIA_NODISCARD Status order_description(via_array *array, via_stream *stream, via_array_interface *description);

// Reads the description of device memory, and detects its device by a driver query. Memory without elements counts as
// device 0's.
VIA_NODISCARD Status read_cuda_interface(const via_array_interface &description, ArraySpec *out_spec);

// Makes an imported array ready after the stream that the description names.
VIA_NODISCARD Status follow_description(via_array *array, const via_array_interface &description);

}  // namespace via
