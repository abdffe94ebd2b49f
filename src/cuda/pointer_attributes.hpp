// Where memory is, as the driver knows it.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via::cuda {

// What an address points to. `known` is false for memory that the driver knows nothing of: ordinary host memory, or
// none at all.
struct PointerAttributes {
    bool known;
    int32_t device_type;  // VIA_DEVICE_CUDA, _CUDA_HOST or _CUDA_MANAGED
    int32_t device_id;    // 0 for pinned and managed memory
    bool read_only;
    void *base;      // of the allocation, as the driver has it: for pool memory the pool's block
    int64_t nbytes;  // of the allocation, or of the one mapping; 0 if the driver does not say
};

// One question to the driver, about 0.1 us (two more for mapped memory). Never starts the driver: where nobody in the
// process has, no address is its own. Fails where the driver cannot be asked (inside its callbacks), since what is
// CUDA's must not be taken for the host's. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status query_pointer(const void *address, PointerAttributes *out_attributes);

// The same, but never fails: what the driver cannot be asked about is not known.
PointerAttributes find_pointer(const void *address);

// As query_pointer, for the hot path of a copy: kind and device only, base and nbytes 0.
VIA_NODISCARD Status query_pointer_kind(const void *address, PointerAttributes *out_attributes);

// The array's address lies on the device it names, and the allocation does not end before the array does. Adjacent
// mappings (VMM memory) are walked. Managed memory may be named as that of a device. An array without elements is not
// looked up. `argument` as in check_device. One question to the driver, unless the memory is mapped.
// Errors: VIA_ERROR_POINTER, VIA_ERROR_DEVICE, VIA_ERROR_READ_ONLY (memory that may only be read, a writable array),
// VIA_ERROR_CUDA, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED.
VIA_NODISCARD Status check_pointer(const char *argument, via_array *array);

// Sets the array's device to that of its memory, and with `check` checks as check_pointer does, by one question to the
// driver. Leaves the array as it is where the driver does not know the address.
// Errors: VIA_ERROR_POINTER, VIA_ERROR_READ_ONLY, VIA_ERROR_CUDA.
VIA_NODISCARD Status detect_pointer(via_array *array, bool check);

}  // namespace via::cuda
