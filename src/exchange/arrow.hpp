// Arrow's C device interface: numeric columns and tensors, out and in.
#pragma once

#include "core/array/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

// Content that a device still writes goes with an event, which the column owns; on the host it is waited for.
VIA_NODISCARD Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column);

// Consumes both structs on success, neither on failure. The array is ready when the column's event has been reached,
// which `stream`, if it is one, is made to wait for.
VIA_NODISCARD Status import_arrow(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream,
                                  via_array **out_array);

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column);

}  // namespace via
