// The kinds of memory that the driver allocates.
#pragma once

#include "core/array/memory.hpp"

namespace via::cuda {

// Returns the name of a kind of CUDA memory: "VIA_MEMORY_PINNED".
constexpr const char *name_of_kind(int32_t kind) {
    return kind == VIA_MEMORY_PINNED        ? "VIA_MEMORY_PINNED"
           : kind == VIA_MEMORY_DEVICE      ? "VIA_MEMORY_DEVICE"
           : kind == VIA_MEMORY_DEVICE_POOL ? "VIA_MEMORY_DEVICE_POOL"
                                            : "VIA_MEMORY_MANAGED";
}

// Makes memory of kind VIA_MEMORY_PINNED, _DEVICE, _DEVICE_POOL or _MANAGED.
// Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_DEVICE, VIA_ERROR_FORKED.
VIA_NODISCARD Status make_cuda_memory(int32_t kind, int32_t device_id, via_memory **out_memory);

}  // namespace via::cuda
