// The kernels for 16-byte vectors, which every processor has.
#define VIA_VECTOR_BYTES 16
#include "copy/host/simd.hpp"

namespace via {

const SimdKernels base_kernels = make_kernels("base");

}  // namespace via
