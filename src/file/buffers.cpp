#include "file/buffers.hpp"

#include <cstdlib>
#include <new>

namespace via {
namespace {

constexpr size_t kPage = 4096;

}  // namespace

Buffers::~Buffers() {
    while (idle_ != nullptr) {
        Idle *next = idle_->next;
        std::free(idle_);
        idle_ = next;
    }
}

Status Buffers::take(char **out_buffer) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (idle_ != nullptr) {
            *out_buffer = reinterpret_cast<char *>(idle_);
            idle_ = idle_->next;
            return VIA_OK;
        }
    }
    const size_t rounded = (static_cast<size_t>(nbytes_) + kPage - 1) / kPage * kPage;
    *out_buffer = static_cast<char *>(std::aligned_alloc(kPage, rounded));
    return *out_buffer != nullptr ? VIA_OK
                                  : fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a buffer of %zu bytes", rounded);
}

void Buffers::give_back(char *buffer) {
    auto *idle = new (buffer) Idle{nullptr};
    const std::lock_guard<std::mutex> lock(mutex_);
    idle->next = idle_;
    idle_ = idle;
}

}  // namespace via
