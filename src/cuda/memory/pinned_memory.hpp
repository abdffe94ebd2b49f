// Pinned memory: blocks that the library maps itself, and small buffers within one.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/base/unique_handle.hpp"
#include "cuda/driver/context.hpp"

namespace via::cuda {

// Host memory with huge pages if possible, touched by several threads and then registered. That takes a third of the
// time of the driver's allocator. Forked children do not inherit it.
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

constexpr int64_t kPinnedBufferBytes = int64_t{128} << 10;

// Pinned buffers for small copies to pageable memory. Through one, 4 KiB arrive in 6.4 us and 64 KiB in 12.5 us;
// the driver alone takes 7.1 and 15.3 us (H200, PCIe 5 x16). The driver waits for the stream inside such a copy and
// blocks other threads, for one of which the stream may wait.
// Returns one for so many bytes, or nullptr. Makes the buffers once a program has copied this way often enough.
char *take_pinned_buffer(int64_t nbytes, int32_t device_id);
void return_pinned_buffer(char *buffer);
using PinnedBuffer = UniqueHandle<char, return_pinned_buffer>;

// Returns whether they are pinned still: the driver copies to and from them after a reset of the context, too.
bool kernels_reach_pinned_buffers();

// Returns a word of pinned memory, or nullptr. It holds what was last written to it. One that the device may still
// write is never returned.
uint32_t *take_pinned_flag(int32_t device_id);
void return_pinned_flag(uint32_t *flag);
using PinnedFlag = UniqueHandle<uint32_t, return_pinned_flag>;

}  // namespace via::cuda
