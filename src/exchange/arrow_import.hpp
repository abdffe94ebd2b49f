// Arrow's C device interface, in: numeric columns and tensors.
#pragma once

#include "core/array/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

// Consumes both structs on success, neither on failure. The array is ready when the column's event has been reached,
// which `stream`, if it is one, is made to wait for.
VIA_NODISCARD Status import_arrow(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream,
                                  via_array **out_array);

}  // namespace via
