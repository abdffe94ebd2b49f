// Arrow's C device interface, out: numeric columns and tensors.
#pragma once

#include "core/array/array.hpp"
#include "exchange/arrow_abi.hpp"

namespace via {

// Content that a device still writes goes with an event, which the column owns; on the host it is waited for.
VIA_NODISCARD Status export_arrow(via_array *array, ArrowSchema *out_schema, ArrowDeviceArray *out_column);

void release_arrow(ArrowSchema *schema, ArrowDeviceArray *column);

}  // namespace via
