// Page-locked host memory that the library maps itself: with huge pages if possible, touched by several threads and
// then registered. That takes a third of the time of the driver's allocator. Forked children do not inherit it.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {

struct PinnedBlock {
    char *address = nullptr;
    int64_t nbytes = 0;
    ContextKey context{};  // that it is registered in, for every other one as well
};

// Maps and registers a block in `context`, which is current. Pages come from `node` unless it is negative. On failure
// nothing is left.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
VIA_NODISCARD Status pin_block(int64_t nbytes, int32_t node, const ContextKey &context, PinnedBlock *out_memory);

// Unregisters and unmaps a block, waiting for the context's work as the driver does. Returns false, and does nothing,
// inside a callback of the driver. Memory that the driver does not unregister stays mapped. Must not be called in a
// forked child.
VIA_NODISCARD bool unpin_block(const PinnedBlock &memory);

}  // namespace via::cuda
