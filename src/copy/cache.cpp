#include "copy/cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace via {
namespace {

constexpr int64_t kUsualCacheBytes = int64_t{32} << 20;

// Virtual machines report what they like: an absurd size is not believed.
int64_t last_level_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes > 0) {
        return std::clamp<int64_t>(bytes, int64_t{1} << 20, int64_t{256} << 20);
    }
#endif
    return kUsualCacheBytes;
}

constinit std::atomic<int64_t> known_bytes{0};

}  // namespace

int64_t streaming_bytes() {
    int64_t bytes = known_bytes.load(std::memory_order_relaxed);
    if (bytes == 0) {
        bytes = last_level_cache_bytes() / 2;
        known_bytes.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
}

}  // namespace via
