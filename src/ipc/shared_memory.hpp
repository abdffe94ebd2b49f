// Host memory that other processes can map.
#pragma once

#include "core/array/memory.hpp"
#include "ipc/shared_file.hpp"

namespace via {

// The file that an array's memory is, and where it starts; false for any other memory.
bool find_shared_file(via_array *array, FileName *out_file, const char **out_start);

// Maps `file`, this process's own too. The deleter is run if there comes to be no array.
// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_IO, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status map_shared_file(const FileName &file, bool writable, Deleter *out_deleter);

}  // namespace via
