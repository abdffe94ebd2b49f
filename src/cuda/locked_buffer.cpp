#include "cuda/locked_buffer.hpp"

#include <atomic>
#include <mutex>

#include "core/thread_state.hpp"
#include "cuda/kept.h"
#include "cuda/locked_memory.hpp"
#include "cuda/ring_memory.hpp"

namespace via::cuda {
namespace {

constexpr int32_t kBuffers = 16;
constexpr int64_t kBytes = via_kept_block_bytes;
static_assert(kBytes == kBuffers * kLockedBufferBytes);
constexpr int32_t kCopiesBefore = 64;

// Never unmapped. Where the context that locked the pages is reset they are pageable again: slower, and as right.
std::atomic<char *> memory{nullptr};
std::atomic<uint32_t> free_buffers{0};  // a bit for each
std::atomic<int32_t> copies_before{0};
std::mutex making;

Status lock_buffers(int32_t device_id, LockedMemory *out_memory) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key.context));
    key.id = context_id(key.context);
    ContextScope scope;
    VIA_TRY(scope.enter(key.context));
    return lock_memory(kBytes, node_of_device(device_id), key, out_memory);
}

// Tried once: what fails here will fail again.
void make_once(int32_t device_id) {
    const std::lock_guard<std::mutex> lock(making);
    if (copies_before.load(std::memory_order_relaxed) > kCopiesBefore) {
        return;
    }
    copies_before.store(kCopiesBefore + 1, std::memory_order_relaxed);
    const CallbackScope unsaid;  // the driver's own way serves as well
    const RelaxedCapture relaxed;
    LockedMemory locked;
    if (lock_buffers(device_id, &locked) != VIA_OK) {
        return;
    }
    count(Counter::StagedBytes, kBytes);
    memory.store(locked.address, std::memory_order_relaxed);
    free_buffers.store((uint32_t{1} << kBuffers) - 1, std::memory_order_release);
}

bool is_made(int32_t device_id) {
    if (copies_before.load(std::memory_order_relaxed) < kCopiesBefore) {
        copies_before.fetch_add(1, std::memory_order_relaxed);
    } else if (copies_before.load(std::memory_order_relaxed) == kCopiesBefore) {
        make_once(device_id);
    }
    return memory.load(std::memory_order_relaxed) != nullptr;
}

// -1 if all are in use.
int32_t take_buffer() {
    uint32_t free = free_buffers.load(std::memory_order_acquire);
    while (free != 0) {
        if (free_buffers.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire)) {
            return __builtin_ctz(free);
        }
    }
    return -1;
}

}  // namespace

LockedBuffer::LockedBuffer(int64_t nbytes, int32_t device_id) {
    if (nbytes > kLockedBufferBytes || !is_made(device_id)) {
        return;
    }
    number_ = take_buffer();
    if (number_ >= 0) {
        memory_ = memory.load(std::memory_order_relaxed) + number_ * kLockedBufferBytes;
    }
}

LockedBuffer::~LockedBuffer() {
    if (number_ >= 0) {
        free_buffers.fetch_or(uint32_t{1} << number_, std::memory_order_release);
    }
}

}  // namespace via::cuda
