// Host memory that other processes can map: anonymous files, which they open by the numbers of this process and of the
// descriptor.
#pragma once

#include <cstdint>

#include "core/array/memory.hpp"
#include "core/base/status.hpp"

namespace via {

// Names a file of a process. A random number, which its link shows before it is opened, and its inode, once it is open,
// identify it: a process or descriptor that reuses a number is not mistaken for it.
struct FileName {
    int32_t process;
    int32_t descriptor;
    uint64_t number;
    uint64_t inode;
};

// Creates a file of `nbytes`, whose size is sealed.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_IO.
VIA_NODISCARD Status make_shared_file(int64_t nbytes, FileName *out_name);

// Returns whether the process still has the file of that name open. Sets errno if not.
bool is_shared_file(const FileName &name);

// Opens a file by its name, also one of this process, and stores its size.
// Errors: VIA_ERROR_EXCHANGE if it is gone, or not from make_shared_file; VIA_ERROR_IO if it may not be opened.
VIA_NODISCARD Status open_shared_file(const FileName &name, bool writable, int *out_descriptor, int64_t *out_nbytes);

// Finds the file of an array's shared memory, and its start; false for other memory.
bool find_shared_file(via_array *array, FileName *out_file, const char **out_start);

// Maps the file, also one of this process. The caller runs the deleter if it makes no array.
// Errors: VIA_ERROR_EXCHANGE, VIA_ERROR_IO, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status map_shared_file(const FileName &file, bool writable, Deleter *out_deleter);

}  // namespace via
