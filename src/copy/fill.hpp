// Fills of arrays, wherever they are. What is refused has not been touched.
#pragma once

#include "core/array/array.hpp"

namespace via {

// `element` is one element's bytes; nullptr for zeros. Returns when done.
VIA_NODISCARD Status fill_array(via_array *dst, const void *element);

// The same in stream order; nullptr means the legacy stream. The element has been read on return.
VIA_NODISCARD Status fill_array_async(via_array *dst, const void *element, via_stream *stream);

}  // namespace via
