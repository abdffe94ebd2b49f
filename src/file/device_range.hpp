// The bytes of a range, to and from a device.
#pragma once

#include "file/file_transfer.hpp"

namespace via {

// The same where a device has the array.
VIA_NODISCARD Status move_device_range(const RangeTransfer &transfer, Fence **out_fence);

}  // namespace via
