// How it works. A processor compares the lowest twelve bits of addresses to find out whether a load needs what a store
// under way writes. A load therefore waits for a store to the same place of another page. A copy stores there shortly
// before it loads if the destination begins a little further on in its page than the source does in its own. Arrays
// that malloc places one behind the other lie so, 16 bytes apart.
//
// From some kibibytes on, the C library copies with `rep movsb`, which suffers most. For 256 KiB that are cached it
// takes 1.7 times as long on Zen 4, and 17 times if addresses are no multiples of 16; for 1 MiB in huge pages on
// Sapphire Rapids, 3.5 times (glibc 2.36 and 2.39). Vectors suffer little if many are loaded before the first is
// stored, and what is stored is aligned. They read the lines that they store to: what no cache holds is quicker by
// memcpy.
#include "core/base/copy_contiguous.hpp"

#include <cstring>

namespace via {
namespace {

constexpr int64_t kLeastByVectors = 1024;  // the C library uses vectors itself for less

// As many bytes as the largest vector has; the compiler takes several smaller ones where there is none.
using Block = char __attribute__((vector_size(64), may_alias));
using UnalignedBlock = char __attribute__((vector_size(64), may_alias, aligned(1)));

// Copies four blocks at a time to an address that is a multiple of a block's size. Returns the bytes copied.
[[gnu::always_inline]] inline int64_t copy_blocks_with(char *dst, const char *src, int64_t nbytes) {
    const int64_t count = nbytes / (4 * static_cast<int64_t>(sizeof(Block)));
    auto *to = reinterpret_cast<Block *>(dst);
    const auto *from = reinterpret_cast<const UnalignedBlock *>(src);
    for (int64_t i = 0; i < count; ++i, to += 4, from += 4) {
        const Block a = from[0];
        const Block b = from[1];
        const Block c = from[2];
        const Block d = from[3];
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
    }
    return count * 4 * static_cast<int64_t>(sizeof(Block));
}

using CopyBlocks = int64_t (*)(char *dst, const char *src, int64_t nbytes);

int64_t copy_blocks_base(char *dst, const char *src, int64_t nbytes) { return copy_blocks_with(dst, src, nbytes); }

#if defined(__x86_64__)
__attribute__((target("avx512f"))) int64_t copy_blocks_avx512(char *dst, const char *src, int64_t nbytes) {
    return copy_blocks_with(dst, src, nbytes);
}

CopyBlocks choose_copy_blocks() noexcept {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? copy_blocks_avx512 : copy_blocks_base;
}
#else
CopyBlocks choose_copy_blocks() noexcept { return copy_blocks_base; }
#endif

const CopyBlocks copy_blocks = choose_copy_blocks();

// Returns whether loads would wait for stores.
bool loads_wait(const void *dst, const void *src) {
    constexpr uintptr_t kCompared = 4095;
    constexpr uintptr_t kUnderWay = 256;  // bytes that a loop stores before it loads again
    const uintptr_t distance = (reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src)) & kCompared;
    return distance != 0 && distance < kUnderWay;
}

}  // namespace

void copy_contiguous(void *dst, const void *src, int64_t nbytes) {
    auto *to = static_cast<char *>(dst);
    const auto *from = static_cast<const char *>(src);
    if (nbytes >= kLeastByVectors && loads_wait(dst, src)) {
        const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % sizeof(Block));
        std::memcpy(to, from, static_cast<size_t>(head));
        const int64_t done = head + copy_blocks(to + head, from + head, nbytes - head);
        to += done;
        from += done;
        nbytes -= done;
    }
    std::memcpy(to, from, static_cast<size_t>(nbytes));
}

}  // namespace via
