// The conversions for every processor.
#include "copy/convert/convert_simd.hpp"

namespace via {

const ConvertKernels base_conversions = make_conversions("base");

}  // namespace via
