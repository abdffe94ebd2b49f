// Pinned memory: blocks that the library maps itself, and small buffers within one.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
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
// Owns one for the time of a scope.
class PinnedBuffer {
public:
    // Makes the buffers once a program has copied this way often enough.
    PinnedBuffer(int64_t nbytes, int32_t device_id);
    ~PinnedBuffer();
    PinnedBuffer(const PinnedBuffer &) = delete;
    PinnedBuffer &operator=(const PinnedBuffer &) = delete;

    // Returns nullptr if there is none.
    char *get() const { return memory_; }

private:
    int32_t number_ = -1;
    char *memory_ = nullptr;
};

// Owns a word of pinned memory for the time of a scope.
class PinnedFlag {
public:
    explicit PinnedFlag(int32_t device_id);
    ~PinnedFlag();
    PinnedFlag(const PinnedFlag &) = delete;
    PinnedFlag &operator=(const PinnedFlag &) = delete;

    // Returns nullptr if there is none. The word holds what was last written to it.
    uint32_t *get() const { return word_; }
    // Retires the word: the device may still write it.
    void give_up() { number_ = -1; }

private:
    int32_t number_ = -1;
    uint32_t *word_ = nullptr;
};

}  // namespace via::cuda
