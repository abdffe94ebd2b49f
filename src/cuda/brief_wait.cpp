#include "cuda/brief_wait.hpp"

#include <chrono>

#include "cuda/locked_buffer.hpp"
#include "cuda/staging_wait.hpp"

namespace via::cuda {
namespace {

// What has not happened by then is no matter of fractions of a microsecond.
constexpr std::chrono::microseconds kWatched{50};
constexpr int32_t kLooksPerTime = 16;

bool holds(const uint32_t *word, uint32_t value) { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; }

bool watch(const uint32_t *word, uint32_t value) {
    const auto end = std::chrono::steady_clock::now() + kWatched;
    do {
        for (int32_t i = 0; i < kLooksPerTime; ++i) {
            if (holds(word, value)) {
                return true;
            }
            relax();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

// False where it cannot be written: the driver is too old, or knows this memory by another address or no more.
bool write_behind(const uint32_t *word, uint32_t value, const StreamUse &use) {
    return driver().cuStreamWriteValue32 != nullptr &&
           driver().cuStreamWriteValue32(use.handle, number_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT) ==
               CUDA_SUCCESS;
}

}  // namespace

Status wait_briefly(const StreamUse &use) {
    LockedWord word(use.device_id);
    const uint32_t next = word.get() != nullptr ? *word.get() + 1 : 0;
    const bool written = word.get() != nullptr && write_behind(word.get(), next, use);
    if (written && watch(word.get(), next)) [[likely]] {
        return VIA_OK;
    }
    const CUresult result = driver().cuStreamSynchronize(use.handle);
    if (written && (result != CUDA_SUCCESS || !holds(word.get(), next))) {
        word.give_up();
    }
    return check_driver(result, "cuStreamSynchronize");
}

}  // namespace via::cuda
