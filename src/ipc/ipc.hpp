// Arrays shared between processes of one host.
//
// How it works
//
// An exporter sends a ticket: plain bytes that name an anonymous file (memfd) of its process. The importer opens it as
// /proc/PID/fd/N. Nothing lies in a file system, so nothing is left behind when a process ends or crashes.
//
// For host memory (VIA_MEMORY_SHARED) the file is the memory: importers map it, and the kernel frees it after the last
// mapping. For device memory the file is an empty lease. Importers open the memory by the driver's IPC handle and hold
// a read lock on the lease, which the kernel drops when they die. The exporter's storage has an access (a Fence, see
// lease.cpp) that completes once it can take the write lock: its release waits until no importer is left.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

// Stores the length of the description, and writes its bytes if they fit the capacity. Waits until the array is ready.
// Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO, VIA_ERROR_OUT_OF_MEMORY, those of the driver and of the array's work.
VIA_NODISCARD Status export_ticket(via_array *array, int64_t capacity, void *bytes, int64_t *out_length);

// Imports the array of a ticket. Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_IO, VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY,
// those of the driver and those of making an array.
VIA_NODISCARD Status import_ticket(const void *bytes, int64_t length, via_array **out_array);

// Returns the allocator of VIA_MEMORY_SHARED; shared, never destroyed.
via_memory *shared_memory();

}  // namespace via
