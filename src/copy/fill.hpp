// Fills of arrays, wherever they are. What is refused has not been touched. Strided fills are the host's, for memory
// that it can reach.
#pragma once

#include "core/array/array.hpp"

namespace via {

// Fills an array and returns when done. `element` is one element's bytes; nullptr means zeros.
VIA_NODISCARD Status fill_array(via_array *dst, const void *element);

// Fills in stream order; nullptr means the legacy stream. The element has been read on return.
VIA_NODISCARD Status fill_array_async(via_array *dst, const void *element, via_stream *stream);

}  // namespace via
