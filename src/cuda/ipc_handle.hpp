// Memory of a device that another process of the host maps, by the driver's own handles (CUDA programming guide,
// "Interprocess Communication").
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via::cuda {

// One allocation, as another process is told of it.
struct SharedMemory {
    unsigned char device[16];  // its UUID: processes may number devices differently
    unsigned char handle[64];  // the driver's
};

struct OpenedMemory;

// Names the device alone.
VIA_NODISCARD Status name_device(int32_t device_id, SharedMemory *out_memory);

// Describes the allocation around an address, and where in it the address is.
// Errors: VIA_ERROR_UNSUPPORTED for memory that was not allocated one by one (pools, mappings) or was imported itself;
// VIA_ERROR_POINTER, VIA_ERROR_CUDA.
VIA_NODISCARD Status share_memory(const void *address, int32_t device_id, SharedMemory *out_memory,
                                  int64_t *out_offset);

// The number of a device here. Errors: VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED.
VIA_NODISCARD Status find_named_device(const SharedMemory &memory, int32_t *out_device_id);

// Maps memory of another process, all of it. It may be opened any number of times. Errors: as above,
// VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
VIA_NODISCARD Status open_memory(const SharedMemory &memory, int32_t *out_device_id, void **out_start,
                                 int64_t *out_nbytes, OpenedMemory **out_opened);

// Then calls `closed`, once the driver has let go; at once or on a thread of the library.
void close_memory(OpenedMemory *opened, void (*closed)(void *context), void *context);

}  // namespace via::cuda
