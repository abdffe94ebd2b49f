// Memory as the driver knows it.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via::cuda {

// The memory of an address. `known` is false if the driver knows nothing of it: ordinary host memory, or none at all.
struct PointerAttributes {
    bool known;
    int32_t device_type;  // VIA_DEVICE_CUDA, _CUDA_HOST or _CUDA_MANAGED
    int32_t device_id;    // 0 for pinned and managed memory
    bool read_only;
    void *base;      // of the allocation, as the driver has it: for pool memory the pool's block
    int64_t nbytes;  // of the allocation, or of the one mapping; 0 if the driver does not say
};

// Asks the driver about an address: about 0.1 us, two more for mapped memory. Never starts the driver: if nobody has,
// no address is CUDA's. Fails inside callbacks of the driver, which answers nothing there. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status query_pointer(const void *address, PointerAttributes *out_attributes);

// Asks the same. Returns unknown memory instead of an error.
PointerAttributes find_pointer(const void *address);

// Asks for kind and device only, for the hot path of a copy. Sets base and nbytes to 0.
VIA_NODISCARD Status query_pointer_kind(const void *address, PointerAttributes *out_attributes);

// Checks that the array's address is on the device it names, and that the allocation does not end before the array.
// Walks adjacent mappings (VMM memory). Managed memory may be named as that of a device. Does not look up arrays
// without elements. `argument` as in check_device. Asks the driver once, unless the memory is mapped. Errors:
// VIA_ERROR_POINTER, VIA_ERROR_DEVICE, VIA_ERROR_READ_ONLY (memory that may only be read, a writable array),
// VIA_ERROR_CUDA, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED.
VIA_NODISCARD Status check_pointer(const char *argument, via_array *array);

// Sets the array's device to that of its memory, and with `check` checks as check_pointer does. Asks the driver once.
// Leaves the array unchanged if the driver does not know the address. Errors: VIA_ERROR_POINTER, VIA_ERROR_READ_ONLY,
// VIA_ERROR_CUDA.
VIA_NODISCARD Status detect_pointer(via_array *array, bool check);

}  // namespace via::cuda
