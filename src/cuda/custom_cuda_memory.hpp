// Custom allocators of CUDA memory.
#pragma once

#include "core/array/memory.hpp"

namespace via::cuda {

// Makes a memory of the caller's allocator. Allocations may be ordered on a stream, and each is looked up in the
// driver. The caller has checked the device.
VIA_NODISCARD Status make_custom_cuda_memory(int32_t device_type, int32_t device_id,
                                             const AllocatorCallbacks &callbacks, via_memory **out_memory);

}  // namespace via::cuda
