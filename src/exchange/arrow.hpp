// Export and import through Arrow's C device interface: numeric columns and tensors.
#pragma once

#include "core/array/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

// Exports device memory that is not ready with an event, which the column owns. Waits on the host for other memory.
VIA_NODISCARD Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column);

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column);

// Consumes both structs on success, neither on failure. The array is ready at the column's event. Makes `stream`, if it
// is one, wait for that event.
VIA_NODISCARD Status import_arrow(ArrowSchema *schema, ArrowDeviceArray *column, via_stream *stream,
                                  via_array **out_array);

}  // namespace via
