// What the kernels are written in: C++ that nvcc compiles for the GPU, and that a host compiler compiles as well, for
// the stand-in for the driver (tests/fakecuda), which runs the same source thread by thread.
//
// A kernel is a struct with Params (passed by value), Shared (its block's shared memory), kThreads, and functions
// phase<0>, phase<1>, ... of (params, shared, block, thread), kPhases of them, between which the threads of a block
// wait for one another. A phase keeps nothing for the next but what it puts into Shared.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define VIA_DEVICE __device__ __forceinline__
#define VIA_UNROLL _Pragma("unroll")
#else
#define VIA_DEVICE inline
#define VIA_UNROLL
#include <cstring>
#endif

namespace via::kernels {

// 16 and 8 bytes that are moved at once.
struct alignas(16) Quad {
    uint32_t x, y, z, w;
};
struct alignas(8) Pair {
    uint32_t x, y;
};

#ifdef __CUDACC__

template <class T>
VIA_DEVICE T load_global(uint64_t address) {
    return *reinterpret_cast<const T *>(address);
}

template <class T>
VIA_DEVICE void store_global(uint64_t address, const T &value) {
    *reinterpret_cast<T *>(address) = value;
}

VIA_DEVICE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
VIA_DEVICE uint64_t multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }

// The bytes of low (0 to 3) and high (4 to 7) that the four lowest hexadecimal digits of the selector name.
VIA_DEVICE uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    return __byte_perm(low, high, selector);
}

#else

// Where the host sees bytes that the launch under way may touch; nullptr, and a fault, where it may not.
void *host_view(uint64_t address, uint64_t nbytes);

template <class T>
inline T load_global(uint64_t address) {
    T value{};
    if (const void *view = host_view(address, sizeof value); view != nullptr) {
        std::memcpy(&value, view, sizeof value);
    }
    return value;
}

template <class T>
inline void store_global(uint64_t address, const T &value) {
    if (void *view = host_view(address, sizeof value); view != nullptr) {
        std::memcpy(view, &value, sizeof value);
    }
}

inline uint32_t multiply_high(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline uint64_t multiply_high(uint64_t a, uint64_t b) {
    __extension__ using Twice = unsigned __int128;
    return static_cast<uint64_t>(Twice{a} * b >> 64);
}

inline uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    const uint64_t both = uint64_t{high} << 32 | low;
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        result |= static_cast<uint32_t>(both >> (selector >> (4 * i) & 7) * 8 & 0xFF) << (8 * i);
    }
    return result;
}

#endif

}  // namespace via::kernels
