// Buffers that the workers of one transfer pass bytes through: as many as work at once, and gone with the transfer.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/base/status.hpp"

namespace via {

class Buffers {
public:
    // Each of so many bytes, starting at a page.
    explicit Buffers(int64_t nbytes) : nbytes_(nbytes) {}
    ~Buffers();
    Buffers(const Buffers &) = delete;
    Buffers &operator=(const Buffers &) = delete;

    int64_t nbytes() const { return nbytes_; }
    VIA_NODISCARD Status take(char **out_buffer);
    void give_back(char *buffer);

private:
    struct Idle {
        Idle *next;
    };

    const int64_t nbytes_;
    std::mutex mutex_;
    Idle *idle_ = nullptr;
};

// A buffer for as long as a scope lasts.
class Buffer {
public:
    explicit Buffer(Buffers &buffers) : buffers_(buffers) {}
    ~Buffer() {
        if (memory_ != nullptr) {
            buffers_.give_back(memory_);
        }
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    VIA_NODISCARD Status take() { return buffers_.take(&memory_); }
    char *get() const { return memory_; }

private:
    Buffers &buffers_;
    char *memory_ = nullptr;
};

}  // namespace via
