// Page-locked host memory of the library's own making: mapped with huge pages where they can be had, touched by several
// threads and then registered, which takes a third of the time of the driver's allocator. Left out of forked children.
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

// The pages come from `node` if it is not negative; `context` is the current one. On failure nothing is left.
// Errors: VIA_ERROR_OUT_OF_MEMORY, VIA_ERROR_CUDA.
VIA_NODISCARD Status pin_block(int64_t nbytes, int32_t node, const ContextKey &context, PinnedBlock *out_memory);

// Waits for the context's work, as the driver does. False inside a callback of the driver, where nothing is done; true
// also where the driver does not let go of the memory, which then stays mapped for good. In a forked child, where there
// is no such memory, it must not be called.
VIA_NODISCARD bool unpin_block(const PinnedBlock &memory);

}  // namespace via::cuda
