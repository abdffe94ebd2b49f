// A pool of buffers for the workers of one transfer, freed with the transfer.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/base/status.hpp"

namespace via {

class BufferPool {
public:
    // Each buffer has `nbytes`, and is aligned to pages.
    explicit BufferPool(int64_t nbytes) : nbytes_(nbytes) {}
    ~BufferPool();
    BufferPool(const BufferPool &) = delete;
    BufferPool &operator=(const BufferPool &) = delete;

    int64_t nbytes() const { return nbytes_; }
    VIA_NODISCARD Status acquire(char **out_buffer);
    void release(char *buffer);

private:
    struct Idle {
        Idle *next;
    };

    const int64_t nbytes_;
    std::mutex mutex_;
    Idle *idle_ = nullptr;
};

// A buffer of the pool for one scope.
class Buffer {
public:
    explicit Buffer(BufferPool &buffers) : buffers_(buffers) {}
    ~Buffer() {
        if (memory_ != nullptr) {
            buffers_.release(memory_);
        }
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    VIA_NODISCARD Status acquire() { return buffers_.acquire(&memory_); }
    char *get() const { return memory_; }

private:
    BufferPool &buffers_;
    char *memory_ = nullptr;
};

}  // namespace via
