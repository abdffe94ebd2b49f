// Arrays shared between the processes of one host.
//
// What one process tells another is a ticket: plain bytes, which name a file that exists in the memory of the exporting
// process only. There is nothing in any file system, so that nothing is left behind, however either process ends. For
// host memory that file is the memory. For a device's it is a lease: importers hold a lock on it, which the system lets
// go of for them if they die, and the exporter's release waits until nobody does.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

// Writes the ticket if there is room for all of it, and its length in any case. Waits until the array is ready.
// Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_IO, VIA_ERROR_OUT_OF_MEMORY, those of the driver and of the array's work.
VIA_NODISCARD Status export_ticket(via_array *array, int64_t capacity, void *bytes, int64_t *out_length);

// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_IO, VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY, those of the driver and those of
// making an array.
VIA_NODISCARD Status import_ticket(const void *bytes, int64_t length, via_array **out_array);

// VIA_MEMORY_SHARED; like the host's memory there is one, which never ends.
via_memory *shared_memory();

}  // namespace via
