// cuda.h with every symbol under its own name: no macro turns cuMemAlloc into cuMemAlloc_v2, and older forms are
// declared too. What it declares is what this library exports.
#ifndef FAKECUDA_CUDA_ABI_HPP
#define FAKECUDA_CUDA_ABI_HPP

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>

#include "fakecuda.h"
#pragma GCC visibility pop

#endif
