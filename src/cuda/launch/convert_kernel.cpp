#include "cuda/launch/convert_kernel.hpp"

#include <algorithm>
#include <bit>

#include "core/base/rounding.hpp"
#include "core/layout/axes.hpp"
#include "cuda/launch/convert_tile.hpp"
#include "cuda/launch/module.hpp"

namespace via::cuda {
namespace {

struct Sized {
    int32_t src_bytes;
    int32_t dst_bytes;
    kernels::Id kernel;
    uint32_t group;
    uint32_t per_block;
    bool is_pair;  // of these types alone, at multiples of their sizes
    bool takes_affine;
    ScalarKind dst;
    ScalarKind src;
};

using kernels::AnyPair;
using kernels::Convert;
using kernels::OnePair;

template <class Kernel>
constexpr Sized sized(kernels::Id kernel) {
    using Pair = typename Kernel::Pair;
    return {Kernel::kSrcBytes, Kernel::kDstBytes,  kernel,         Kernel::kGroup, Kernel::kPerBlock,
            Pair::is_aligned,  Pair::takes_affine, Pair::kDstKind, Pair::kSrcKind};
}

constexpr Sized kSized[] = {
#define VIA_SIZED(name, ...) sized<__VA_ARGS__>(kernels::Id::name),
    VIA_CONVERT_KERNELS(VIA_SIZED)
#undef VIA_SIZED
};

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
    return static_cast<uint8_t>(alignment_in(reinterpret_cast<uint64_t>(start) | static_cast<uint64_t>(item) |
                                             bits_of_steps(loops.axes, loops.ndim, step)));
}

// Kernels of one pair come first. GCC 14 ends with an internal error if the kinds are compared next to one another.
const Sized &choose_kernel(const ElementConversion &elements, int32_t dst_word, int32_t src_word) {
    return *std::find_if(std::begin(kSized), std::end(kSized), [&](const Sized &each) {
        const bool serves = !each.is_pair || (each.dst == elements.dst && dst_word == each.dst_bytes &&
                                              each.src == elements.src && src_word == each.src_bytes);
        return serves && (elements.affine == nullptr || each.takes_affine) &&
               each.src_bytes == bytes_of(elements.src) && each.dst_bytes == bytes_of(elements.dst);
    });
}

// Returns whether all elements are adjacent in both, in groups that begin at multiples of their size.
bool is_adjacent(const ElementLoops &loops, const Sized &kernel) {
    const Axis &axis = loops.axes[0];
    const auto starts_at = [&](const void *start, int32_t item) {
        return reinterpret_cast<uint64_t>(start) % (kernel.group * static_cast<uint64_t>(item)) == 0;
    };
    return loops.ndim == 1 && loops.numbered < 0 && axis.dst_step == kernel.dst_bytes &&
           axis.src_step == kernel.src_bytes && starts_at(loops.dst, kernel.dst_bytes) &&
           starts_at(loops.src, kernel.src_bytes);
}

// Returns how many scales and offsets the loops use.
int64_t count_numbers(const ElementLoops &loops, const AffineStep *affine) {
    return affine == nullptr ? 0 : loops.numbered < 0 ? 1 : loops.axes[loops.numbered].extent;
}

void set_numbers(const ElementLoops &loops, const AffineStep *affine, kernels::ConvertParams *params) {
    if (const int64_t count = count_numbers(loops, affine);
        count > 0 && count <= kernels::ConvertParams::kMostNumbers) {
        std::copy_n(affine->scales + loops.number, count, params->scales);
        std::copy_n(affine->offsets + loops.number, count, params->offsets);
    }
}

}  // namespace

void plan_convert_kernel(const ElementLoops &given, const ElementConversion &elements, ConvertKernelPlan *out_plan) {
    const ElementLoops loops = merged(given, elements);
    kernels::ConvertParams &params = out_plan->params;
    params.dst = reinterpret_cast<uint64_t>(loops.dst);
    params.src = reinterpret_cast<uint64_t>(loops.src);
    static_cast<ElementConversion &>(params.elements) = elements;
    params.elements.wide = wide_of(elements.src);
    params.elements.is_narrow = is_narrow(elements.dst);
    params.elements.is_affine = elements.affine != nullptr;
    params.dst_word = word_of(loops.dst, loops, &Axis::dst_step, bytes_of(elements.dst));
    params.src_word = word_of(loops.src, loops, &Axis::src_step, bytes_of(elements.src));
    const Sized &kernel = choose_kernel(elements, params.dst_word, params.src_word);
    out_plan->kernel = kernel.kernel;
    params.is_adjacent = is_adjacent(loops, kernel);
    set_numbers(loops, elements.affine, &params);
    const int32_t bits = std::countr_zero(kernel.per_block);
    out_plan->blocks = plan_convert_tiles(loops, {bits, kernel.dst_bytes, kernel.src_bytes}, &params);
}

namespace {

// Launches parts of the axis that an affine step goes along, each with as many numbers as a launch takes.
Status launch_by_numbers(const ElementLoops &loops, const ElementConversion &elements, const ResolvedStream &stream) {
    const int64_t extent = loops.axes[loops.numbered].extent;
    for (int64_t at = 0; at < extent; at += kernels::ConvertParams::kMostNumbers) {
        ElementLoops part = loops;
        move_along(loops.numbered, at, &part);
        part.axes[loops.numbered].extent = std::min<int64_t>(extent - at, kernels::ConvertParams::kMostNumbers);
        part.count = loops.count / extent * part.axes[loops.numbered].extent;
        VIA_TRY(launch_convert(part, elements, stream));
    }
    return VIA_OK;
}

}  // namespace

Status launch_convert(const ElementLoops &loops, const ElementConversion &elements, const ResolvedStream &stream) {
    if (count_numbers(loops, elements.affine) > kernels::ConvertParams::kMostNumbers) {
        return launch_by_numbers(loops, elements, stream);
    }
    ConvertKernelPlan plan;
    plan_convert_kernel(loops, elements, &plan);
    if (plan.blocks <= kMostBlocks) {
        return launch(plan.kernel, static_cast<uint32_t>(plan.blocks), &plan.params, stream);
    }
    Status status = VIA_OK;
    const auto launch_box = [&](const ElementLoops &box) {
        status = status == VIA_OK ? launch_convert(box, elements, stream) : status;
    };
    const int64_t half = loops.count / 2;
    for_each_box(loops, 0, half, launch_box);
    for_each_box(loops, half, loops.count - half, launch_box);
    return status;
}

}  // namespace via::cuda
