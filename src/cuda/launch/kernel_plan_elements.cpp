#include "cuda/launch/kernel_plan_elements.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/kernel_cost.hpp"

namespace via::cuda {
namespace {

using kernels::Id;

using AnyElements = kernels::Elements<1, kernels::kFewAxes>;
constexpr int64_t kThreads = AnyElements::kThreads;

static_assert(kernel_of_size(Id::via_elements_1, 16) == Id::via_elements_16);
static_assert(kernel_of_size(Id::via_elements_many_1, 16) == Id::via_elements_many_16);

int64_t most_each(int32_t element) {
    return element <= 2   ? AnyElements::kMostEach
           : element == 4 ? kernels::Elements<4, 1>::kMostEach
           : element == 8 ? kernels::Elements<8, 1>::kMostEach
                          : kernels::Elements<16, 1>::kMostEach;
}

// Returns how much of parts of a whole is used.
double use_of(int64_t whole, int64_t part) {
    return static_cast<double>(whole) / static_cast<double>(divide_up(whole, part) * part);
}

constexpr double kFull = 0.95;           // of the threads of a row of blocks
constexpr int64_t kMany = 8 * kThreads;  // numbers: few threads of their last block are idle

// Gives all threads that walk along an axis as many elements, but for one.
int64_t share_out(int64_t extent, int64_t unit, int64_t most) {
    const int64_t there = divide_up(extent, unit);
    return divide_up(there, divide_up(there, std::min(most, there)));
}

// Numbers axes in the order of dst until blocks are full but for little.
void number_others(const Shape &shape, int64_t most, ElementsWalk *walk) {
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const bool is_full =
            walk->count >= kMany || (walk->count >= kThreads && use_of(walk->count, kThreads) >= kFull);
        if (i == walk->axis || is_full || !fits_index(walk->count * shape.axes[i].extent)) {
            continue;
        }
        walk->numbered[walk->ndim++] = i;
        walk->count *= shape.axes[i].extent;
    }
    walk->each = share_out(shape.axes[walk->axis].extent, 1, most);
}

// Numbers the first axes, the last of them being the one that is walked along.
void number_up_to(int32_t axis, ElementsWalk *walk) {
    for (walk->ndim = 0; walk->ndim <= axis; ++walk->ndim) {
        walk->numbered[walk->ndim] = walk->ndim;
    }
}

// Numbers the part of an axis that fills one to eight blocks best, and walks along it.
void number_part(const Shape &shape, int64_t most, ElementsWalk *walk) {
    double best = 0;
    int64_t before = 1;
    for (int32_t i = 0; i < shape.ndim && before < kMany && best < kFull; before *= shape.axes[i++].extent) {
        const int64_t extent = shape.axes[i].extent;
        if (before * extent < kThreads && i + 1 < shape.ndim) {
            continue;
        }
        for (int64_t count = divide_up(before, kThreads) * kThreads; count <= kMany && best < kFull;
             count += kThreads) {
            const int64_t unit = std::min(extent, count / before);
            const int64_t each = share_out(extent, unit, most);
            if (const double use = use_of(before * unit, kThreads) * use_of(extent, unit * each); use > best) {
                best = use;
                *walk = {i, unit, each, true, 0, {}, before * unit};
            }
        }
    }
    number_up_to(walk->axis, walk);
}

// Numbers all elements of a part of the outermost axis, and walks from part to part. What blocks store then begins and
// ends at whole sectors of a dense dst, and threads have several loads of small elements under way.
void number_all(const Shape &shape, ElementsWalk *walk) {
    constexpr int64_t kEachOfSmall = 4;
    const int32_t last = shape.ndim - 1;
    const int64_t extent = shape.axes[last].extent;
    const int64_t inner = shape.nbytes / shape.element / extent;
    const int64_t whole = kSectorBytes / std::gcd(kSectorBytes, inner * shape.element);  // indices, of whole sectors
    const int64_t part = round_up(divide_up(extent, shape.element < 4 ? kEachOfSmall : 1), whole);
    const int64_t unit = std::min(extent, part);
    *walk = {last, unit, divide_up(extent, unit), true, 0, {}, inner * unit};
    number_up_to(last, walk);
}

}  // namespace

bool make_walk(const Shape &shape, int32_t axis, int64_t threads, int64_t part, ElementsWalk *out_walk) {
    const int64_t all = shape.nbytes / shape.element;
    const int64_t most = std::clamp<int64_t>(all / threads, 1, divide_up(most_each(shape.element), part));
    *out_walk = {axis, 1, 1, false, 0, {}, 1};
    if (axis < 0) {
        number_part(shape, most, out_walk);
    } else {
        number_others(shape, most, out_walk);
    }
    return out_walk->ndim > 0;
}

int64_t count_blocks(const Shape &shape, const ElementsWalk &walk) {
    int64_t blocks = divide_up(walk.count, kThreads) * divide_up(shape.axes[walk.axis].extent, walk.unit * walk.each);
    for (int32_t i = 0; i < shape.ndim; ++i) {
        blocks *= walk.has(i) ? 1 : shape.axes[i].extent;
    }
    return blocks;
}

namespace {

template <class Params>
void fill(const Shape &shape, const ElementsWalk &walk, Params *params) {
    const Axis &walked = shape.axes[walk.axis];
    params->dst = shape.dst;
    params->src = shape.src;
    params->count = static_cast<uint32_t>(walk.count);
    params->chunks = kernels::make_divisor<uint32_t>(divide_up(walk.count, kThreads));
    params->walks = kernels::make_divisor<uint32_t>(divide_up(walked.extent, walk.unit * walk.each));
    params->unit = kernels::make_divisor<uint32_t>(walk.unit);
    params->each = static_cast<uint32_t>(walk.each);
    params->is_shared = walk.is_shared;
    params->extent = walked.extent;
    params->dst_step = walked.dst_step * walk.unit;
    params->src_step = walked.src_step * walk.unit;
    params->numbered_ndim = walk.ndim;
    params->outer_ndim = 0;
    for (int32_t i = 0; i < walk.ndim; ++i) {
        params->numbered[i] = kernels::make_loop<uint32_t>(shape.axes[walk.numbered[i]]);
    }
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if (!walk.has(i)) {
            params->outer[params->outer_ndim++] = kernels::make_loop<uint32_t>(shape.axes[i]);
        }
    }
}

void make_plan(const Shape &shape, const ElementsWalk &walk, double cost, KernelPlan *plan) {
    const bool few = shape.ndim <= kernels::kFewAxes;
    plan->route = KernelRoute::Elements;
    plan->has_many_axes = !few;
    plan->kernel = kernel_of_size(few ? Id::via_elements_1 : Id::via_elements_many_1, shape.element);
    plan->element = plan->word = shape.element;
    plan->blocks = static_cast<uint32_t>(count_blocks(shape, walk));
    plan->tile[0] = plan->tile[1] = 0;
    plan->cost = cost;
    if (few) {
        fill(shape, walk, &plan->params.elements);
    } else {
        fill(shape, walk, &plan->params.elements_many);
    }
}

}  // namespace

bool plan_elements_along(const Shape &shape, int32_t axis, int64_t threads, KernelPlan *plan) {
    ElementsWalk walk;
    if (!make_walk(shape, axis, threads, 1, &walk)) {
        return false;
    }
    make_plan(shape, walk, cost_of_elements(shape, walk), plan);
    return true;
}

void plan_elements(const Shape &shape, KernelPlan *plan) {
    ElementsWalk best;
    if (shape.far_side == FarSide::Dst && fits_index(shape.nbytes / shape.element)) {
        number_all(shape, &best);
        return make_plan(shape, best, cost_of_elements(shape, best), plan);
    }
    double least = INFINITY;
    for (int32_t axis = -1; axis < shape.ndim; ++axis) {
        for (const int64_t part : {1, 2}) {
            ElementsWalk walk;
            const double cost =
                make_walk(shape, axis, kThreadsWanted, part, &walk) ? cost_of_elements(shape, walk) : INFINITY;
            if (cost < least) {
                best = walk;
                least = cost;
            }
        }
    }
    make_plan(shape, best, least, plan);
}

}  // namespace via::cuda
