#include "cuda/kernels/channels.cuh"
#include "cuda/kernels/global.cuh"

namespace via::kernels {
#include "cuda/kernels/channels.def"
}
