// Export through Arrow's C device interface: numeric columns and tensors.
#pragma once

#include "core/array/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

// Exports device memory that is not ready with an event, which the column owns. Waits on the host for other memory.
VIA_NODISCARD Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column);

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column);

}  // namespace via
