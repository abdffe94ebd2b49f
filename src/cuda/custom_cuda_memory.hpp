// Custom allocators of CUDA memory.
#pragma once

#include "core/array/memory.hpp"

namespace via::cuda {

// Makes a memory of the caller's allocator. Ignores `kind` of the description. Allocations may be ordered on a stream,
// and each is looked up in the driver. The caller has checked the device.
VIA_NODISCARD Status make_custom_cuda_memory(const CustomMemory &description, via_memory **out_memory);

}  // namespace via::cuda
