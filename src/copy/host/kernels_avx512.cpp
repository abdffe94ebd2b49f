// The kernels for AVX-512 (F, BW, DQ, VL).
#define VIA_VECTOR_BYTES 64
#include "copy/host/simd.hpp"

namespace via {

const SimdKernels avx512_kernels = make_kernels("avx512");

}  // namespace via
