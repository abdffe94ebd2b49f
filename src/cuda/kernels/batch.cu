#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/batch.def"
}
