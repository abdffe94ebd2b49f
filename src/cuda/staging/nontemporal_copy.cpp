// Non-temporal stores do not read the lines of the slot before they write them, and leave the caches to the caller.
// With eight threads 47 GB/s reach an H200 instead of 33.
#include "cuda/staging/nontemporal_copy.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace via::cuda {
namespace {

using Store = void (*)(char *dst, const char *src, size_t nbytes);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void store_512(char *dst, const char *src, size_t nbytes) {
    constexpr size_t kStep = 4 * sizeof(__m512i);
    size_t i = 0;
    for (; i + kStep <= nbytes; i += kStep) {
        const auto *from = reinterpret_cast<const __m512i *>(src + i);
        auto *to = reinterpret_cast<__m512i *>(dst + i);
        const __m512i a = _mm512_loadu_si512(from);
        const __m512i b = _mm512_loadu_si512(from + 1);
        const __m512i c = _mm512_loadu_si512(from + 2);
        const __m512i d = _mm512_loadu_si512(from + 3);
        _mm512_stream_si512(to, a);
        _mm512_stream_si512(to + 1, b);
        _mm512_stream_si512(to + 2, c);
        _mm512_stream_si512(to + 3, d);
    }
    std::memcpy(dst + i, src + i, nbytes - i);
    _mm_sfence();
}

// SSE2 is part of x86-64. AVX2 gains nothing over it, since a line takes several stores either way.
void store_128(char *dst, const char *src, size_t nbytes) {
    constexpr size_t kStep = 4 * sizeof(__m128i);
    size_t i = 0;
    for (; i + kStep <= nbytes; i += kStep) {
        const auto *from = reinterpret_cast<const __m128i *>(src + i);
        auto *to = reinterpret_cast<__m128i *>(dst + i);
        const __m128i a = _mm_loadu_si128(from);
        const __m128i b = _mm_loadu_si128(from + 1);
        const __m128i c = _mm_loadu_si128(from + 2);
        const __m128i d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
    std::memcpy(dst + i, src + i, nbytes - i);
    _mm_sfence();
}

Store choose_store() noexcept {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") ? store_512 : store_128;
}
#else
void store_plain(char *dst, const char *src, size_t nbytes) { std::memcpy(dst, src, nbytes); }

Store choose_store() noexcept { return store_plain; }
#endif

const Store store = choose_store();

}  // namespace

void store_for_device(void *dst, const void *src, int64_t nbytes) {
    store(static_cast<char *>(dst), static_cast<const char *>(src), static_cast<size_t>(nbytes));
}

}  // namespace via::cuda
