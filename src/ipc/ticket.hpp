// What one process tells another of an array, in bytes of this machine's order: it never leaves the host.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "cuda/ipc_handle.hpp"
#include "ipc/shared_file.hpp"

namespace via {

struct Ticket {
    uint64_t check;             // of all bytes behind it: the driver is never asked for what came over damaged
    int32_t nbytes;             // of the bytes in use: the dimensions that there are not are left out
    int32_t device_type;        // VIA_DEVICE_CPU or VIA_DEVICE_CUDA
    FileName file;              // its descriptor is -1 if there are no elements, and so no memory
    cuda::SharedMemory memory;  // of a device
    int64_t offset;             // of the first element, from the start of the file or of the device's allocation
    int32_t dtype;
    int32_t ndim;
    int32_t flags;
    int32_t reserved;
    int64_t dims[2 * VIA_MAX_NDIM];  // ndim extents, then as many steps

    const int64_t *shape() const { return dims; }
    const int64_t *steps() const { return dims + ndim; }
};

// All but where the memory is.
void describe_array(via_array *array, Ticket *out_ticket);

// Writes it if there is room for all of it, and its length in any case.
void write_ticket(Ticket *ticket, int64_t capacity, void *bytes, int64_t *out_length);

// Takes bytes of any origin; what comes out has ndim, lengths and flags in range, and nothing else is promised.
// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_VERSION.
VIA_NODISCARD Status read_ticket(const void *bytes, int64_t length, Ticket *out_ticket);

}  // namespace via
