#include "copy/convert/convert_kernels.hpp"

#include <atomic>

#include "copy/host/host_kernels.hpp"

namespace via {
namespace {

constinit std::atomic<const ConvertKernels *> chosen{nullptr};

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
            return __builtin_cpu_supports("f16c") != 0 ? &avx2_conversions : nullptr;
        case 2:
            return __builtin_cpu_supports("f16c") != 0 ? &avx512_conversions : nullptr;
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
