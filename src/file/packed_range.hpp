// The bytes of a range whose elements are packed below a byte.
#pragma once

#include "file/file_transfer.hpp"

namespace via {

// The same of packed elements; whole_bytes: those that an array shares with nobody.
VIA_NODISCARD Status move_packed_range(const RangeTransfer &transfer, Fence **out_fence);

int64_t whole_bytes(via_array *array);

}  // namespace via
