// Files in memory that other processes of the host open by the number of this one and of the descriptor.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

// Which file of which process; told apart from all others by a random number, which the system shows before the file is
// opened, and by that of its inode once it is, so that a process or a descriptor that has come to bear the same number
// is not mistaken for it.
struct FileName {
    int32_t process;
    int32_t descriptor;
    uint64_t number;
    uint64_t inode;
};

// A new file of `nbytes`, which cannot be made smaller or larger by anyone.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_IO.
VIA_NODISCARD Status make_shared_file(int64_t nbytes, FileName *out_name);

// Opens a file by its name, this process's own too, and tells what it was made with.
// Errors: VIA_ERROR_EXCHANGE if there is no such file any more, or one that did not come from make_shared_file,
// VIA_ERROR_IO if it may not be opened.
VIA_NODISCARD Status open_shared_file(const FileName &name, bool writable, int *out_descriptor, int64_t *out_nbytes);

}  // namespace via
