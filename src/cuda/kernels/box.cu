#include "cuda/kernels/box.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/box.def"
}
