// Describes an array for another process: a ticket. Has native byte order, since it never leaves the host.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "cuda/ipc_handle.hpp"
#include "ipc/shared_memory.hpp"

namespace via {

struct Ticket {
    uint64_t checksum;          // of all following bytes: the driver never sees a damaged ticket
    int32_t nbytes;             // in use: absent dimensions are left out
    int32_t device_type;        // VIA_DEVICE_CPU or VIA_DEVICE_CUDA
    FileName file;              // descriptor -1 for an array without elements, which has no memory
    cuda::SharedMemory memory;  // of a device
    int64_t offset;             // of the first element in the file or the device's allocation
    int32_t dtype;
    int32_t ndim;
    int32_t flags;
    int32_t reserved;
    int64_t dims[2 * VIA_MAX_NDIM];  // ndim extents, then ndim steps

    const int64_t *shape() const { return dims; }
    const int64_t *steps() const { return dims + ndim; }
};

// Fills all fields but those of the memory.
void describe_array(via_array *array, Ticket *out_ticket);

// Stores the length, and writes the bytes if they fit the capacity.
void write_ticket(Ticket *ticket, int64_t capacity, void *bytes, int64_t *out_length);

// Reads untrusted bytes. Checks ndim, lengths and flags, and nothing else.
// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_VERSION.
VIA_NODISCARD Status read_ticket(const void *bytes, int64_t length, Ticket *out_ticket);

}  // namespace via
