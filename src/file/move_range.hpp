// Moves the bytes of a range between a file and an array on any device.
#pragma once

#include "file/file_transfer.hpp"

namespace via {

// Stores the fence at which a device ends the transfer, retained for the caller; nullptr if it is complete.
VIA_NODISCARD Status move_range(const RangeTransfer &transfer, Fence **out_fence);

// Counts the bytes of an array that hold its elements only: all but a last byte that is partly used.
int64_t whole_bytes(via_array *array);

}  // namespace via
