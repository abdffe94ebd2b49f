#include "cuda/kernels/global.cuh"
#include "cuda/kernels/tile.cuh"

namespace via::kernels {
#include "cuda/kernels/tile.def"
}
