// The caller's own allocators of CUDA memory.
#pragma once

#include "core/array/memory.hpp"

namespace via::cuda {

// An allocator of the caller's for CUDA memory: `kind` of the description is not read. Its allocations may be ordered
// on a stream, and what it gives is looked up in the driver. The device has been checked.
VIA_NODISCARD Status make_custom_cuda_memory(const CustomMemory &description, via_memory **out_memory);

}  // namespace via::cuda
