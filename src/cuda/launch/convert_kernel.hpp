// Conversions by a kernel that reaches both arrays by address.
#pragma once

#include "core/layout/element_loops.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/stream/resolved_stream.hpp"

namespace via::cuda {

// What is launched, and how often.
struct ConvertKernelPlan {
    kernels::Id kernel;
    uint64_t blocks;
    kernels::ConvertParams params;
};

void plan_convert_kernel(const ElementLoops &loops, const ElementConversion &elements, ConvertKernelPlan *out_plan);

// Queues it, after load_kernels has succeeded.
VIA_NODISCARD Status launch_convert(const ElementLoops &loops, const ElementConversion &elements,
                                    const ResolvedStream &stream);

}  // namespace via::cuda
