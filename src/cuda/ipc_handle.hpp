// Device memory shared with other processes of the host by the driver's handles (CUDA programming guide, "Interprocess
// Communication").
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via::cuda {

// Describes one allocation to another process.
struct SharedMemory {
    unsigned char device[16];  // its UUID: processes may number devices differently
    unsigned char handle[64];  // the driver's
};

struct OpenedMemory;

// Stores the UUID of the device, and no allocation.
VIA_NODISCARD Status name_device(int32_t device_id, SharedMemory *out_memory);

// Describes the allocation around an address, and stores the offset of the address in it.
// Errors: VIA_ERROR_UNSUPPORTED for memory that was not allocated one by one (pools, mappings) or was imported itself;
// VIA_ERROR_POINTER, VIA_ERROR_CUDA.
VIA_NODISCARD Status share_memory(const void *address, int32_t device_id, SharedMemory *out_memory,
                                  int64_t *out_offset);

// Finds the number of a device in this process. Errors: VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED.
VIA_NODISCARD Status find_named_device(const SharedMemory &memory, int32_t *out_device_id);

// Maps an allocation of another process. It may be opened several times. Errors: as above,
// VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
VIA_NODISCARD Status open_memory(const SharedMemory &memory, int32_t *out_device_id, void **out_start,
                                 int64_t *out_nbytes, OpenedMemory **out_opened);

// Unmaps the memory, now or on a thread of the library, and then calls `closed`.
void close_memory(OpenedMemory *opened, void (*closed)(void *context), void *context);

}  // namespace via::cuda
