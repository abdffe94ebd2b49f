#include "cuda/launch/convert_kernel.hpp"

#include <algorithm>

#include "cuda/launch/module.hpp"

namespace via::cuda {
namespace {

constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;  // of a launch

struct Sized {
    int32_t src_bytes;
    int32_t dst_bytes;
    kernels::Id kernel;
    uint32_t group;
    uint32_t per_block;
};

template <int kSrcBytes, int kDstBytes>
constexpr Sized sized(kernels::Id kernel) {
    using Kernel = kernels::Convert<kSrcBytes, kDstBytes>;
    return {kSrcBytes, kDstBytes, kernel, Kernel::kGroup, Kernel::kPerBlock};
}

using kernels::Convert;

template <class Kernel>
struct SizedOf;
template <int kSrcBytes, int kDstBytes>
struct SizedOf<Convert<kSrcBytes, kDstBytes>> {
    static constexpr Sized with(kernels::Id kernel) { return sized<kSrcBytes, kDstBytes>(kernel); }
};

constexpr Sized kSized[] = {
#define VIA_SIZED(name, ...) SizedOf<__VA_ARGS__>::with(kernels::Id::name),
    VIA_CONVERT_KERNELS(VIA_SIZED)
#undef VIA_SIZED
};

const Sized &find_sized(const ElementConversion &elements) {
    return *std::find_if(std::begin(kSized), std::end(kSized), [&](const Sized &each) {
        return each.src_bytes == bytes_of(elements.src) && each.dst_bytes == bytes_of(elements.dst);
    });
}

bool is_narrow(ScalarKind kind) {
    static constexpr bool kNarrow[] = {
#define VIA_NARROW(name, bytes, wide) kIsNarrow<ScalarKind::name>,
        VIA_SCALAR_KINDS(VIA_NARROW)
#undef VIA_NARROW
    };
    return kNarrow[static_cast<int32_t>(kind)];
}

// Returns the bytes, at most those of an element, that every element begins at a multiple of.
uint8_t word_of(const void *start, const ElementLoops &loops, int64_t Axis::*step, int32_t item) {
    uint64_t all = reinterpret_cast<uint64_t>(start) | static_cast<uint64_t>(item);
    for (int32_t i = 0; i < loops.ndim; ++i) {
        all |= static_cast<uint64_t>(loops.axes[i].*step);
    }
    return static_cast<uint8_t>(all & (0 - all));
}

// Returns whether all elements are adjacent in both, in groups that begin at multiples of their size.
bool is_adjacent(const ElementLoops &loops, const Sized &kernel) {
    const Axis &axis = loops.axes[0];
    const auto starts_at = [&](const void *start, int32_t item) {
        return reinterpret_cast<uint64_t>(start) % (kernel.group * static_cast<uint64_t>(item)) == 0;
    };
    return loops.ndim == 1 && axis.dst_step == kernel.dst_bytes && axis.src_step == kernel.src_bytes &&
           starts_at(loops.dst, kernel.dst_bytes) && starts_at(loops.src, kernel.src_bytes);
}

}  // namespace

void plan_convert_kernel(const ElementLoops &loops, const ElementConversion &elements, ConvertKernelPlan *out_plan) {
    const Sized &kernel = find_sized(elements);
    kernels::ConvertParams &params = out_plan->params;
    out_plan->kernel = kernel.kernel;
    params.dst = reinterpret_cast<uint64_t>(loops.dst);
    params.src = reinterpret_cast<uint64_t>(loops.src);
    params.count = static_cast<uint64_t>(loops.count);
    params.first_block = 0;
    params.elements = elements;
    params.wide = wide_of(elements.src);
    params.is_narrow = is_narrow(elements.dst);
    params.dst_word = word_of(loops.dst, loops, &Axis::dst_step, kernel.dst_bytes);
    params.src_word = word_of(loops.src, loops, &Axis::src_step, kernel.src_bytes);
    params.ndim = is_adjacent(loops, kernel) ? 0 : loops.ndim;
    for (int32_t i = 0; i < params.ndim; ++i) {
        const Axis &axis = loops.axes[i];
        params.axes[i] = {kernels::make_divisor<uint64_t>(axis.extent), axis.dst_step, axis.src_step};
    }
    out_plan->blocks = (params.count - 1) / kernel.per_block + 1;
}

Status launch_convert(const ElementLoops &loops, const ElementConversion &elements, const ResolvedStream &stream) {
    ConvertKernelPlan plan;
    plan_convert_kernel(loops, elements, &plan);
    while (plan.params.first_block < plan.blocks) {
        const uint64_t blocks = std::min(plan.blocks - plan.params.first_block, kMostBlocks);
        VIA_TRY(launch(plan.kernel, static_cast<uint32_t>(blocks), &plan.params, stream));
        plan.params.first_block += blocks;
    }
    return VIA_OK;
}

}  // namespace via::cuda
