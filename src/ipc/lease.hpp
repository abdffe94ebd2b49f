// A lease on memory of a device that other processes have mapped: its owner gets it back when none of them has it.
#pragma once

#include "core/array/array.hpp"
#include "ipc/shared_file.hpp"

namespace via {

// The lease of a storage, made when first asked for: from then on its release waits for those who join.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_IO.
VIA_NODISCARD Status lease_storage(Storage *storage, FileName *out_file);

// For another process: until the descriptor is closed, or this process has ended, the memory stays its owner's to
// lend. Errors: VIA_ERROR_EXCHANGE if it has been released, VIA_ERROR_IO.
VIA_NODISCARD Status join_lease(const FileName &file, int *out_descriptor);

}  // namespace via
