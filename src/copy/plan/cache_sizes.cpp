#include "copy/plan/cache_sizes.hpp"

#include <atomic>
#include <cstdio>

#include "core/system/small_file.hpp"

namespace via {
namespace {

constexpr int64_t kUsualCacheBytes = int64_t{32} << 20;

// Parses "32768K". Returns 0 for anything else.
int64_t parse_cache_size(const char *text) {
    char unit = 0;
    long long count = 0;
    return std::sscanf(text, "%lld%c", &count, &unit) == 2 && unit == 'K' && count > 0 && count < (1 << 21)
               ? count << 10
               : 0;
}

// Returns what the kernel reports: the part of the cache that a core can use. The C library may report the sum over a
// package of which a virtual machine has a few cores.
int64_t read_last_level_bytes() {
    for (int index = 3; index >= 2; --index) {
        char path[64];
        char text[32];
        std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        const int64_t bytes = read_small_file(path, text, sizeof text) ? parse_cache_size(text) : 0;
        if (bytes > 0) {
            return bytes;
        }
    }
    return kUsualCacheBytes;
}

constinit std::atomic<int64_t> known_bytes{0};

}  // namespace

int64_t last_level_bytes() {
    int64_t bytes = known_bytes.load(std::memory_order_relaxed);
    if (bytes == 0) {
        bytes = read_last_level_bytes();
        known_bytes.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
}

}  // namespace via
