// The language of the kernels: C++ that nvcc compiles for the GPU, and a host compiler for the fake driver
// (tests/fakecuda), which runs the same source thread by thread.
//
// A kernel is a struct with Params (passed by value), Shared (its block's shared memory), kThreads, and a function run
// of (params, shared, block, threads). Code outside of threads.each() must do the same in every thread of the block.
// Code inside runs in each thread, and keeps nothing for later except in Shared.
#pragma once

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define VIA_DEVICE __device__ __forceinline__
#define VIA_UNROLL _Pragma("unroll")
#define VIA_PRAGMA(text) _Pragma(#text)
#define VIA_UNROLL_BY(count) VIA_PRAGMA(unroll count)
#define VIA_NO_UNROLL _Pragma("unroll 1")
#else
#define VIA_DEVICE inline
#define VIA_UNROLL
#define VIA_UNROLL_BY(count)
#define VIA_NO_UNROLL
#include <cstring>
#endif

namespace via::kernels {

// Words of this many bytes, moved at once.
template <int kBytes>
struct alignas(kBytes) Words {
    static constexpr int kCount = kBytes / 4;
    uint32_t at[kCount];
};

template <int kBytes>
using Word = std::conditional_t<kBytes == 1, uint8_t, std::conditional_t<kBytes == 2, uint16_t, Words<kBytes>>>;

#ifdef __CUDACC__

struct Threads {
    template <class Body>
    VIA_DEVICE void each(const Body &body) const {
        body(threadIdx.x);
    }
    // Until all threads of the block have come here, and see what the others have put into shared memory.
    VIA_DEVICE void wait() const { __syncthreads(); }
    // Waits for all threads, and for the bytes that they gave to copy_to_shared.
    VIA_DEVICE void wait_for_copies() const {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        __syncthreads();
    }
};

// The types that nvcc has instructions for. Its functions for them also say that an address is one of global memory,
// which the number does not say.
template <int kBytes>
using NativeVector = std::conditional_t<kBytes == 4, unsigned int, std::conditional_t<kBytes == 8, uint2, uint4>>;
template <int kBytes>
using Native = std::conditional_t<(kBytes < 4), Word<kBytes>, NativeVector<kBytes>>;

template <class T>
VIA_DEVICE T load_global(uint64_t address) {
    using N = Native<sizeof(T)>;
    const N found = __ldg(reinterpret_cast<const N *>(address));
    return reinterpret_cast<const T &>(found);
}

template <class T>
VIA_DEVICE void store_global(uint64_t address, const T &value) {
    using N = Native<sizeof(T)>;
    __stwb(reinterpret_cast<N *>(address), reinterpret_cast<const N &>(value));
}

// Starts to copy a word of 4, 8 or 16 bytes: many may be on their way without holding a register each.
template <uint32_t kBytes>
VIA_DEVICE void copy_to_shared(void *to, uint64_t from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(kBytes)
                 : "memory");
#else
    *static_cast<Words<kBytes> *>(to) = load_global<Words<kBytes>>(from);
#endif
}

VIA_DEVICE uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
VIA_DEVICE uint64_t multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }

// The bytes of low (0 to 3) and high (4 to 7) that the four lowest hexadecimal digits of the selector name.
VIA_DEVICE uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    return __byte_perm(low, high, selector);
}

// The low word of both, shifted right by so many bits, 0 to 32.
VIA_DEVICE uint32_t shift_words(uint32_t low, uint32_t high, uint32_t bits) {
    return __funnelshift_rc(low, high, bits);
}

#else

// Runs threads in either order, which exposes a missing wait.
struct Threads {
    template <class Body>
    void each(const Body &body) const {
        for (uint32_t i = 0; i < count; ++i) {
            body(backwards ? count - 1 - i : i);
        }
    }
    void wait() const {}
    void wait_for_copies() const {}

    uint32_t count;
    bool backwards = false;
};

// Returns the host's address of bytes that the launch under way may touch. Returns nullptr, and a fault, for other
// memory and for addresses that are not multiples of the size.
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

template <uint32_t kBytes>
inline void copy_to_shared(void *to, uint64_t from) {
    const Words<kBytes> words = load_global<Words<kBytes>>(from);
    std::memcpy(to, &words, kBytes);
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

inline uint32_t shift_words(uint32_t low, uint32_t high, uint32_t bits) {
    return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> bits);
}

#endif

}  // namespace via::kernels
