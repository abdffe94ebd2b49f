#include "cuda/kernels/rows.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/rows.def"
}
