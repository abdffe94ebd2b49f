#include "cuda/kernels/gather.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/gather.def"
}
