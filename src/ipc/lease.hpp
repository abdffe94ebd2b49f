// Leases on device memory that other processes have mapped: the owner's release waits until none of them has it.
#pragma once

#include "core/array/array.hpp"
#include "ipc/shared_memory.hpp"

namespace via {

// Returns the lease of a storage, made at the first call. The storage's release waits for all that join it.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_IO.
VIA_NODISCARD Status lease_storage(Storage *storage, FileName *out_file);

// Joins the lease of another process: its memory stays allocated until the descriptor is closed or this process ends.
// Errors: VIA_ERROR_EXCHANGE if it has been released, VIA_ERROR_IO.
VIA_NODISCARD Status join_lease(const FileName &file, int *out_descriptor);

}  // namespace via
