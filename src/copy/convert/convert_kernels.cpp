#include "copy/convert/convert_kernels.hpp"

#include "copy/host/host_kernels.hpp"

namespace via {
namespace {

constexpr const ConvertKernels *kLevels[] = {
    &base_conversions,
#if defined(__x86_64__)
    &avx2_conversions,
    &avx512_conversions,
#endif
};

}  // namespace

const ConvertKernels *convert_kernels_at(int level) {
    return simd_kernels_at(level) != nullptr ? kLevels[level] : nullptr;
}

const ConvertKernels &convert_kernels() { return *kLevels[simd_kernels().level]; }

}  // namespace via
