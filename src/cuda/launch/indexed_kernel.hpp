// Copies of rows by index, by a kernel that reaches both arrays and the lists of row numbers by address.
#pragma once

#include "core/layout/indexed_rows.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// What is launched, and how often.
struct IndexedKernelPlan {
    kernels::Id kernel;
    uint64_t blocks;
    kernels::IndexedParams params;
};

// Plans the kernel. `fault` is the address of an IndexFault that the device reaches, or 0: numbers out of range are
// then skipped, and not reported.
void plan_indexed_kernel(const IndexedRows &rows, uint64_t fault, IndexedKernelPlan *out_plan);

// Queues it, after load_kernels has succeeded.
VIA_NODISCARD Status launch_indexed(const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream);

}  // namespace via::cuda
