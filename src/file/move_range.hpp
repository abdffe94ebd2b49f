// The bytes of a range, wherever the array is.
#pragma once

#include "file/file_transfer.hpp"

namespace via {

VIA_NODISCARD Status move_range(const RangeTransfer &transfer, Fence **out_fence);

}  // namespace via
