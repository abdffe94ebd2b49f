#include "cuda/kernels/global.cuh"
#include "cuda/kernels/rows.cuh"

namespace via::kernels {
#include "cuda/kernels/rows.def"
}
