// How a strided copy is done by a kernel: a value made without a GPU, which can be printed, tested, and then launched.
#pragma once

#include "core/array.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

struct KernelPlan {
    kernels::Id kernel;
    uint32_t blocks;
    uint64_t dst;
    uint64_t src;
    int32_t unit;                 // bytes that are moved at once
    int64_t count;                // of units
    int32_t ndim;                 // at least 1
    Axis axes[VIA_MAX_NDIM + 1];  // over all units, the one that comes first in dst first; steps in units
};

// The transfer has loops.
void plan_kernel(const Transfer &transfer, KernelPlan *out_plan);

// "via_elements_4, 4 bytes at once, 12 blocks of 256 threads": at most `capacity` bytes.
void describe_kernel(const KernelPlan &plan, int64_t capacity, char *out_text);

}  // namespace via::cuda
