#include "cuda/memory/pinned_buffer.hpp"

#include <atomic>
#include <mutex>

#include "core/base/thread_state.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/memory/pinned_block.hpp"
#include "cuda/topology/numa_node.hpp"

namespace via::cuda {
namespace {

constexpr int32_t kBuffers = 15;
constexpr int32_t kWords = 64;
constexpr int64_t kWordBytes = 64;  // a line of the cache for each
constexpr int64_t kBytes = via_pinned_block_bytes;
static_assert(kBytes == (kBuffers + 1) * kPinnedBufferBytes && kWords * kWordBytes <= kPinnedBufferBytes);
constexpr int32_t kCopiesBefore = 64;

// Never unmapped. After a reset of the context the pages are pageable: copies are slower, and still right.
std::atomic<char *> memory{nullptr};
std::atomic<uint64_t> free_buffers{0};  // a bit for each
std::atomic<uint64_t> free_words{0};
std::atomic<int32_t> copies_before{0};
std::mutex making;

Status lock_buffers(int32_t device_id, PinnedBlock *out_memory) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key.context));
    key.id = context_id(key.context);
    ContextScope scope;
    VIA_TRY(scope.enter(key.context));
    return pin_block(kBytes, node_of_device(device_id), key, out_memory);
}

// Tries once: what fails here fails again.
void make_once(int32_t device_id) {
    const std::lock_guard<std::mutex> lock(making);
    if (copies_before.load(std::memory_order_relaxed) > kCopiesBefore) {
        return;
    }
    copies_before.store(kCopiesBefore + 1, std::memory_order_relaxed);
    const CallbackScope unsaid;  // the driver's own way serves as well
    const RelaxedCapture relaxed;
    PinnedBlock locked;
    if (lock_buffers(device_id, &locked) != VIA_OK) {
        return;
    }
    count(Counter::StagedBytes, kBytes);
    memory.store(locked.address, std::memory_order_relaxed);
    free_buffers.store((uint64_t{1} << kBuffers) - 1, std::memory_order_release);
    free_words.store(~uint64_t{0} >> (64 - kWords), std::memory_order_release);
}

bool is_made(int32_t device_id) {
    int32_t before = copies_before.load(std::memory_order_relaxed);
    if (before < kCopiesBefore) {  // two at once may count as one, but none counts past the number that is waited for
        (void)copies_before.compare_exchange_strong(before, before + 1, std::memory_order_relaxed);
    } else if (before == kCopiesBefore) {
        make_once(device_id);
    }
    return memory.load(std::memory_order_relaxed) != nullptr;
}

// Returns -1 if all are in use.
int32_t take_one(std::atomic<uint64_t> *all) {
    uint64_t free = all->load(std::memory_order_acquire);
    while (free != 0) {
        if (all->compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire)) {
            return __builtin_ctzll(free);
        }
    }
    return -1;
}

void put_back(std::atomic<uint64_t> *all, int32_t number) {
    if (number >= 0) {
        all->fetch_or(uint64_t{1} << number, std::memory_order_release);
    }
}

}  // namespace

PinnedBuffer::PinnedBuffer(int64_t nbytes, int32_t device_id) {
    if (nbytes > kPinnedBufferBytes || !is_made(device_id)) {
        return;
    }
    number_ = take_one(&free_buffers);
    if (number_ >= 0) {
        memory_ = memory.load(std::memory_order_relaxed) + number_ * kPinnedBufferBytes;
    }
}

PinnedBuffer::~PinnedBuffer() { put_back(&free_buffers, number_); }

PinnedFlag::PinnedFlag(int32_t device_id) {
    if (!is_made(device_id)) {
        return;
    }
    number_ = take_one(&free_words);
    if (number_ >= 0) {
        char *words = memory.load(std::memory_order_relaxed) + kBuffers * kPinnedBufferBytes;
        word_ = reinterpret_cast<uint32_t *>(words + number_ * kWordBytes);
    }
}

PinnedFlag::~PinnedFlag() { put_back(&free_words, number_); }

}  // namespace via::cuda
