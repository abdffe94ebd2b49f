// The conversions for AVX2 and F16C.
#include "copy/convert/convert_simd.hpp"

namespace via {

const ConvertKernels avx2_conversions = make_conversions("avx2");

}  // namespace via
