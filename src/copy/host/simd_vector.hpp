// Vectors of the size that the including file is compiled for: see simd.hpp.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <utility>

#include "copy/host/host_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"

namespace via {
namespace {

constexpr int64_t kVector = VIA_VECTOR_BYTES;
constexpr int64_t kLine = kLineBytes;
constexpr int64_t kLane = 16;  // the part of a vector that shuffles do not leave

#if defined(__SSSE3__) || defined(__aarch64__)
constexpr bool kShufflesBytes = true;
#else
constexpr bool kShufflesBytes = false;
#endif

#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr bool kStoresPicked = true;  // some bytes of a vector
#else
constexpr bool kStoresPicked = false;
#endif

template <typename T, int64_t Bytes>
struct VectorOf {
    typedef T Type __attribute__((vector_size(Bytes)));
};
template <typename T>
using Vector = typename VectorOf<T, kVector>::Type;
template <typename T>
using Lane = typename VectorOf<T, kLane>::Type;
struct Element16 {
    uint64_t halves[2];
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

template <typename V>
inline V load(const char *address) {
    V value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

template <typename V>
inline void store(char *address, V value) {
    __builtin_memcpy(address, &value, sizeof value);
}

}  // namespace
}  // namespace via
