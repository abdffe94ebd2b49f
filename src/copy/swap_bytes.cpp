#include "copy/swap_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "copy/convert/convert_kernels.hpp"

namespace via {
namespace {

// Compilers make no vectors of a loop whose two arrays are one: each block goes through a buffer in the first cache.
void swap_in_place(char *memory, int64_t nbytes, int64_t width, SwapRun swap) {
    alignas(64) char buffer[4096];
    for (int64_t at = 0; at < nbytes; at += sizeof buffer) {
        const int64_t some = std::min<int64_t>(nbytes - at, sizeof buffer);
        swap(buffer, memory + at, some / width);
        std::memcpy(memory + at, buffer, static_cast<size_t>(some));
    }
}

}  // namespace

void swap_bytes(void *dst, const void *src, int64_t nbytes, int64_t width) {
    const SwapRun swap = convert_kernels().swap[std::countr_zero(static_cast<uint64_t>(width)) - 1];
    if (dst == src) {
        swap_in_place(static_cast<char *>(dst), nbytes, width, swap);
    } else {
        swap(dst, src, nbytes / width);
    }
}

}  // namespace via
