#include "cuda/kernels/elements.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/elements.def"
}
