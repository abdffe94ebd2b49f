// The conversions for AVX-512 (F, BW, DQ, VL).
#include "copy/convert/convert_simd.hpp"

namespace via {

const ConvertKernels avx512_conversions = make_conversions("avx512");

}  // namespace via
