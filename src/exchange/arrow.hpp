// Arrow's C device interface: numeric columns and tensors, out and in.
#pragma once

#include "core/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

VIA_NODISCARD Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column);

// Consumes both structs on success, neither on failure.
VIA_NODISCARD Status import_arrow(ArrowSchema *schema, ArrowDeviceArray *column, via_array **out_array);

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column);

}  // namespace via
