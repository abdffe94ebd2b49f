#include "cuda/memory/pinned_memory.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "core/async/thread_pool.hpp"
#include "core/base/thread_state.hpp"
#include "core/system/pages.hpp"
#include "core/system/thread_count.hpp"
#include "cuda/driver/resource_limits.h"
#include "cuda/memory/prefault.hpp"
#include "cuda/topology/topology.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kTouchBytes = int64_t{2} << 20;
constexpr int32_t kMostTouching = 8;

void touch(char *memory, int64_t nbytes) {
    parallel_ranges(0, nbytes, kTouchBytes, std::min(num_threads(), kMostTouching), [&](int64_t from, int64_t to) {
        if (!populate(memory + from, to - from)) {
            for (int64_t i = from; i < to; i += 4096) {
                *static_cast<volatile char *>(memory + i) = 0;
            }
        }
    });
}

// Sets a preference. Containers often forbid it.
void prefer_node(char *memory, int64_t nbytes, int32_t node) {
    constexpr int kPreferred = 1;
    constexpr int32_t kMostNodes = 64;
    if (node >= 0 && node < kMostNodes) {
        const unsigned long nodes = 1UL << node;
        (void)syscall(SYS_mbind, memory, static_cast<unsigned long>(nbytes), kPreferred, &nodes, kMostNodes + 1, 0);
    }
}

// Maps whole pages at an address where a huge page can begin.
char *map_aligned(int64_t nbytes) {
    const auto whole = static_cast<size_t>(nbytes + kHugePage);
    void *mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    auto *start = static_cast<char *>(mapped);
    char *memory = start + (kHugePage - reinterpret_cast<intptr_t>(start) % kHugePage) % kHugePage;
    if (memory != start) {
        munmap(start, static_cast<size_t>(memory - start));
    }
    if (char *end = memory + nbytes; end != start + whole) {
        munmap(end, static_cast<size_t>(start + whole - end));
    }
    return memory;
}

int64_t in_whole_pages(int64_t nbytes) { return round_up(nbytes, page_bytes()); }

void unmap(const PinnedBlock &memory) { munmap(memory.address, static_cast<size_t>(in_whole_pages(memory.nbytes))); }

Status map(int64_t nbytes, int32_t node, char **out_memory) {
    const int64_t whole = in_whole_pages(nbytes);
    char *memory = map_aligned(whole);
    if (memory == nullptr) {
        return fail_with_code(VIA_ERROR_OUT_OF_MEMORY, errno, "mmap: no memory for %lld pinned bytes",
                              static_cast<long long>(nbytes));
    }
    // Ignores failures of these: the memory serves all the same.
    (void)madvise(memory, static_cast<size_t>(whole), MADV_HUGEPAGE);
    (void)madvise(memory, static_cast<size_t>(whole), MADV_DONTFORK);
    prefer_node(memory, whole, node);
    touch(memory, whole);
    *out_memory = memory;
    return VIA_OK;
}

bool unregister(const PinnedBlock &memory) {
    ContextScope scope;
    if (!scope.enter_to_free(memory.context.context)) {
        return false;
    }
    const CUresult result = asked_again([&] { return driver().cuMemHostUnregister(memory.address); });
    return result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

}  // namespace

Status pin_block(int64_t nbytes, int32_t node, const ContextKey &context, PinnedBlock *out_memory) {
    if (context.id == 0) {
        return fail(VIA_ERROR_CUDA, "cuCtxGetId: the context has no number");
    }
    PinnedBlock made{.address = nullptr, .nbytes = nbytes, .context = context};
    VIA_TRY(map(nbytes, node, &made.address));
    const CUresult result =
        driver().cuMemHostRegister(made.address, static_cast<size_t>(nbytes), CU_MEMHOSTREGISTER_PORTABLE);
    if (result != CUDA_SUCCESS) {
        unmap(made);
        return driver_failure(result, "cuMemHostRegister");
    }
    *out_memory = made;
    return VIA_OK;
}

// Unmaps without unregistering if the context was reset or destroyed. If unregistering fails, the mapping stays: the
// driver would take whatever is mapped there next for pinned memory.
bool unpin_block(const PinnedBlock &memory) {
    const ContextState state = state_of(memory.context);
    if (state == ContextState::CannotAsk) {
        return false;
    }
    if (state == ContextState::Gone || unregister(memory)) {
        unmap(memory);
    }
    return true;
}

namespace {

constexpr int32_t kBuffers = 15;
constexpr int32_t kWords = 64;
constexpr int64_t kWordBytes = 64;  // a line of the cache for each
constexpr int64_t kBytes = via_pinned_block_bytes;
static_assert(kBytes == (kBuffers + 1) * kPinnedBufferBytes && kWords * kWordBytes <= kPinnedBufferBytes);
constexpr int32_t kCopiesBefore = 64;

// Never unmapped. After a reset of the context the pages are pageable: copies are slower, and still right.
std::atomic<char *> memory{nullptr};
constinit ContextKey registered_in{};  // set before that

// Pieces of that memory, of one size.
class Pieces {
public:
    constexpr Pieces(int64_t offset, int64_t nbytes) noexcept : offset_(offset), nbytes_(nbytes) {}

    void add(int32_t count) { free_.store(~uint64_t{0} >> (64 - count), std::memory_order_release); }

    // Returns nullptr if all are in use.
    char *take() {
        uint64_t free = free_.load(std::memory_order_acquire);
        while (free != 0) {
            if (free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire)) {
                return first() + __builtin_ctzll(free) * nbytes_;
            }
        }
        return nullptr;
    }

    void put_back(const char *piece) {
        free_.fetch_or(uint64_t{1} << ((piece - first()) / nbytes_), std::memory_order_release);
    }

private:
    char *first() const { return memory.load(std::memory_order_relaxed) + offset_; }

    const int64_t offset_;
    const int64_t nbytes_;
    std::atomic<uint64_t> free_{0};  // a bit for each
};

constinit Pieces buffers{0, kPinnedBufferBytes};
constinit Pieces words{kBuffers * kPinnedBufferBytes, kWordBytes};
std::atomic<int32_t> copies_before{0};
std::mutex making;

Status lock_buffers(int32_t device_id, PinnedBlock *out_memory) {
    ContextKey key{};
    VIA_TRY(primary_context(device_id, &key));
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
    const CallbackScope quiet;  // the driver's own way serves as well
    const RelaxedCapture relaxed;
    PinnedBlock locked;
    if (lock_buffers(device_id, &locked) != VIA_OK) {
        return;
    }
    count(Counter::StagedBytes, kBytes);
    registered_in = locked.context;
    memory.store(locked.address, std::memory_order_release);
    buffers.add(kBuffers);
    words.add(kWords);
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

}  // namespace

char *take_pinned_buffer(int64_t nbytes, int32_t device_id) {
    return nbytes <= kPinnedBufferBytes && is_made(device_id) ? buffers.take() : nullptr;
}

void return_pinned_buffer(char *buffer) { buffers.put_back(buffer); }

bool kernels_reach_pinned_buffers() {
    return memory.load(std::memory_order_acquire) != nullptr && state_of(registered_in) == ContextState::Alive;
}

uint32_t *take_pinned_flag(int32_t device_id) {
    return is_made(device_id) ? reinterpret_cast<uint32_t *>(words.take()) : nullptr;
}

void return_pinned_flag(uint32_t *flag) { words.put_back(reinterpret_cast<const char *>(flag)); }

}  // namespace via::cuda
