// Moves the elements of a range between a file and an array of another dtype, or of another byte order.
#pragma once

#include "file/move_range.hpp"

namespace via {

// Moves them as move_range does, by up to `workers` threads. `transfer` has a conversion.
VIA_NODISCARD Status move_converted(const RangeTransfer &transfer, ExtentIo &extent_io, int32_t workers,
                                    Fence **out_fence);

}  // namespace via
