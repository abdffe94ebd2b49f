#include "copy/host/host_kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

namespace via {
namespace {

#if defined(__x86_64__)
// Clang 14 does not know "f16c" in __builtin_cpu_supports.
bool has_f16c() {
    constexpr unsigned kF16c = 1U << 29;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0 && has_f16c(); }

bool has_avx512() {
    return has_f16c() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}
#endif

constinit std::atomic<const SimdKernels *> chosen{nullptr};

const SimdKernels &choose_kernels() {
    const SimdKernels *best = &base_kernels;
    for (int level = 0; level < kSimdLevels; ++level) {
        best = simd_kernels_at(level) != nullptr ? simd_kernels_at(level) : best;
    }
    chosen.store(best, std::memory_order_relaxed);
    return *best;
}

}  // namespace

const SimdKernels *simd_kernels_at(int level) {
    switch (level) {
        case 0:
            return &base_kernels;
#if defined(__x86_64__)
        case 1:
            return has_avx2() ? &avx2_kernels : nullptr;
        case 2:
            return has_avx512() ? &avx512_kernels : nullptr;
#endif
        default:
            return nullptr;
    }
}

const SimdKernels &simd_kernels() {
    const SimdKernels *kernels = chosen.load(std::memory_order_relaxed);
    return kernels != nullptr ? *kernels : choose_kernels();
}

void end_streaming() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

}  // namespace via
