// The kernels for AVX2.
#define VIA_VECTOR_BYTES 32
#include "copy/host/simd.hpp"

namespace via {

const SimdKernels avx2_kernels = make_kernels("avx2");

}  // namespace via
