// Host memory that other processes can map.
#pragma once

#include "core/array/memory.hpp"
#include "ipc/shared_file.hpp"

namespace via {

// Finds the file of an array's shared memory, and its start; false for other memory.
bool find_shared_file(via_array *array, FileName *out_file, const char **out_start);

// Maps the file, also one of this process. The caller runs the deleter if it makes no array.
// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_IO, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status map_shared_file(const FileName &file, bool writable, Deleter *out_deleter);

}  // namespace via
