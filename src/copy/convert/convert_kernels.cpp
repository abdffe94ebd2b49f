#include "copy/convert/convert_kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

#include "copy/host/host_kernels.hpp"

namespace via {
namespace {

constinit std::atomic<const ConvertKernels *> chosen{nullptr};

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
#endif

const ConvertKernels &choose_conversions() {
    const ConvertKernels *best = &base_conversions;
    for (int level = 0; level < kSimdLevels; ++level) {
        best = convert_kernels_at(level) != nullptr ? convert_kernels_at(level) : best;
    }
    chosen.store(best, std::memory_order_relaxed);
    return *best;
}

}  // namespace

const ConvertKernels *convert_kernels_at(int level) {
    if (simd_kernels_at(level) == nullptr) {
        return nullptr;
    }
    switch (level) {
        case 0:
            return &base_conversions;
#if defined(__x86_64__)
        case 1:
            return has_f16c() ? &avx2_conversions : nullptr;
        case 2:
            return has_f16c() ? &avx512_conversions : nullptr;
#endif
        default:
            return nullptr;
    }
}

const ConvertKernels &convert_kernels() {
    const ConvertKernels *kernels = chosen.load(std::memory_order_relaxed);
    return kernels != nullptr ? *kernels : choose_conversions();
}

}  // namespace via
