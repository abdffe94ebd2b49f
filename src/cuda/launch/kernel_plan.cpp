#include "cuda/launch/kernel_plan.hpp"

#include <cstdlib>

#include "core/base/text_buffer.hpp"
#include "core/layout/axes.hpp"
#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_copy.hpp"
#include "cuda/launch/kernel_cost.hpp"
#include "cuda/launch/kernel_plan_box.hpp"
#include "cuda/launch/kernel_plan_elements.hpp"
#include "cuda/launch/kernel_plan_tiles.hpp"

namespace via::cuda {
namespace {

using kernels::Id;
using kernels::Narrow;
using kernels::Wide;

// Returns the largest unit of 16, 8, 4, 2 and 1 bytes that every address, step and run is a multiple of.
int32_t unit_of(const Transfer &transfer) {
    const uint64_t all = reinterpret_cast<uint64_t>(transfer.dst) | reinterpret_cast<uint64_t>(transfer.src) |
                         static_cast<uint64_t>(transfer.run) |
                         bits_of_steps(transfer.axes, transfer.ndim, &Axis::dst_step) |
                         bits_of_steps(transfer.axes, transfer.ndim, &Axis::src_step) | 16;
    return static_cast<int32_t>(alignment_in(all));
}

void find_extent(const Transfer &transfer, Shape *shape) {
    int64_t low = 0;
    int64_t high = transfer.run;
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        const int64_t reach = (transfer.axes[i].extent - 1) * transfer.axes[i].src_step;
        (reach < 0 ? low : high) += reach;
    }
    shape->extent = {shape->src + static_cast<uint64_t>(low), static_cast<uint64_t>(high - low)};
}

// ------------------------------------------------------------------------------------------------ rows

// Shortest runs in bytes: a shorter run is not worth its first and last sixteen. Words of four bytes are faster element
// by element.
constexpr int64_t kLeastRun = 48;
constexpr int64_t kLeastRunOfWords = 512;

// Bytes at the ends of a run are stored in parts, if it begins anywhere.
double cost_of_rows(const Shape &shape, uint32_t blocks, bool of_words) {
    constexpr KernelRates kRates = {4.1, 3.6e6, 3.5e-3, 0.46};
    constexpr KernelRates kRatesOfWords = {3.8, 2.8e6, 3.1e-3, 0.46};
    constexpr double kRun = 2.9e-5;
    const double runs = static_cast<double>(shape.nbytes) / static_cast<double>(shape.run);
    const double parts = of_words || !begins_anywhere(shape, shape.run) ? 0 : runs * kRun;
    return cost_of_blocks(shape, blocks, read_per_byte(shape), of_words ? kRatesOfWords : kRates) + parts;
}

template <class Width>
bool fill_rows(const Shape &shape, int64_t words, int64_t count, kernels::RowsParams<Width> *params) {
    using Index = typename Width::Index;
    if (shape.ndim - 1 > Width::kAxes) {
        return false;
    }
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    params->run = static_cast<uint64_t>(shape.axes[0].extent);
    params->count = static_cast<Index>(count);
    params->words = kernels::make_divisor<Index>(words);
    params->ndim = shape.ndim - 1;
    for (int32_t i = 1; i < shape.ndim; ++i) {
        params->axes[i - 1] = kernels::make_loop<Index>(shape.axes[i]);
    }
    return true;
}

}  // namespace

bool plan_rows(const Shape &given, KernelPlan *plan) {
    const bool of_words = given.element == 4;
    if (given.run < (of_words ? kLeastRunOfWords : kLeastRun) || given.element > 4 || given.run == given.element) {
        return false;
    }
    Shape shape = given;
    shape.element = of_words ? 4 : 1;
    shape.axes[0] = {given.run / shape.element, shape.element, shape.element};
    const int64_t words = divide_up(shape.run + 16 - shape.element, 16);
    const int64_t count = words * (shape.nbytes / shape.run);
    const bool narrow = fits_index(count) && fill_rows(shape, words, count, &plan->params.rows);
    plan->route = KernelRoute::Rows;
    plan->kernel =
        narrow ? (of_words ? Id::via_rows_4 : Id::via_rows_1) : (of_words ? Id::via_rows_wide_4 : Id::via_rows_wide_1);
    plan->is_wide = !narrow;
    plan->blocks = static_cast<uint32_t>(divide_up(count, kernels::Rows<1, Narrow>::kPerBlock));
    plan->element = shape.element;
    plan->word = 16;
    plan->tile[0] = plan->tile[1] = 0;
    plan->cost = cost_of_rows(given, plan->blocks, of_words);
    return narrow || fill_rows(shape, words, count, &plan->params.rows_wide);
}

void find_shape(const Transfer &transfer, Shape *out_shape) {
    out_shape->far_side = FarSide::None;
    out_shape->dst = reinterpret_cast<uint64_t>(transfer.dst);
    out_shape->src = reinterpret_cast<uint64_t>(transfer.src);
    out_shape->nbytes = transfer.nbytes;
    out_shape->run = transfer.run;
    out_shape->element = unit_of(transfer);
    out_shape->ndim = 0;
    if (transfer.run > out_shape->element) {
        out_shape->axes[out_shape->ndim++] = {transfer.run / out_shape->element, out_shape->element,
                                              out_shape->element};
    }
    for (int32_t i = 0; i < transfer.ndim; ++i) {
        out_shape->axes[out_shape->ndim++] = transfer.axes[i];
    }
    find_extent(transfer, out_shape);
}

void make_forward(Shape *shape, int32_t axis) {
    Axis &reversed = shape->axes[axis];
    if (reversed.src_step < 0) {
        shape->dst += static_cast<uint64_t>((reversed.extent - 1) * reversed.dst_step);
        shape->src += static_cast<uint64_t>((reversed.extent - 1) * reversed.src_step);
        reversed.dst_step = -reversed.dst_step;
        reversed.src_step = -reversed.src_step;
    }
}

// Returns whether a box may gain something. Across a link it stores whole requests, and may though the order is one.
static bool may_box(const Shape &shape) {
    return shape.far_side != FarSide::None || !goes_in_one_order(shape.axes, shape.ndim);
}

// Returns what no kernel can beat by much: it is not worth planning a box then.
static double least_cost(const Shape &shape) {
    constexpr double kStart = 4;
    constexpr double kBytes = 2.1e6;  // of dst per microsecond
    const auto nbytes = static_cast<double>(shape.nbytes);
    return shape.far_side == FarSide::None ? kStart + nbytes / kBytes
                                           : cost_of_crossing(shape, nbytes / kSectorBytes, nbytes / kSectorBytes);
}

static void keep_better(const Shape &shape, const KernelPlan &plan, KernelPlan *best) {
    const double cost = cost_across_link(shape, plan);
    if (cost < best->cost) {
        *best = plan;
        best->cost = cost;
    }
}

// Chooses tiles for a small copy where elements are expected to take long, and tiles clearly less.
static void try_tiles(const Shape &shape, KernelPlan *plan) {
    constexpr int64_t kLeastBytes = int64_t{512} << 10;
    constexpr double kMargin = 1.05;  // measured costs differ by as much
    if (shape.far_side != FarSide::None || shape.nbytes < kLeastBytes || plan->cost <= least_cost(shape)) {
        return;
    }
    KernelPlan tiles;
    if (plan_tiles(shape, &tiles) && tiles.cost * kMargin < plan->cost) {
        *plan = tiles;
    }
}

void plan_kernel_of(const Shape &shape, KernelPlan *out_plan) {
    constexpr int32_t kMostAxes = 40;  // that tiles are cut along
    plan_elements(shape, out_plan);
    if (shape.ndim > kMostAxes) {
        return;
    }
    if (shape.nbytes <= kMostByElements) {
        return try_tiles(shape, out_plan);
    }
    out_plan->cost = cost_across_link(shape, *out_plan);
    for (const auto plan : {plan_rows, plan_channels, plan_tiles}) {
        KernelPlan other;
        if (plan(shape, &other)) {
            keep_better(shape, other, out_plan);
        }
    }
    const double good = shape.far_side == FarSide::None ? 1.1 : 1.02;
    if (KernelPlan box;
        may_box(shape) && out_plan->cost > good * least_cost(shape) && plan_box(shape, out_plan->cost, &box)) {
        *out_plan = box;
    }
}

void plan_kernel(const Transfer &transfer, KernelPlan *out_plan, FarSide far_side) {
    Shape shape;
    find_shape(transfer, &shape);
    shape.far_side = far_side;
    plan_kernel_of(shape, out_plan);
}

template <class Params>
static void move_params(uint64_t dst_distance, uint64_t src_distance, Params *params) {
    params->dst += dst_distance;
    params->src += src_distance;
    if constexpr (requires { params->extent.low; }) {
        params->extent.low += src_distance;
    }
    if constexpr (requires { params->whole.low; }) {
        params->whole = kernels::whole_of(params->extent);
    }
}

void move_plan(uint64_t dst_distance, uint64_t src_distance, KernelPlan *plan) {
    const auto move = [&](auto *params) { move_params(dst_distance, src_distance, params); };
    switch (plan->route) {
        case KernelRoute::Elements:
            return plan->has_many_axes ? move(&plan->params.elements_many) : move(&plan->params.elements);
        case KernelRoute::Rows:
            return plan->is_wide ? move(&plan->params.rows_wide) : move(&plan->params.rows);
        case KernelRoute::Channels:
            return move(&plan->params.channels);
        case KernelRoute::Tiles:
            return move(&plan->params.tile);
        case KernelRoute::Box:
            return move(&plan->params.box);
    }
}

void describe_kernel(const KernelPlan &plan, TextBuffer *text) {
    constexpr const char *kNames[] = {"elements", "rows", "channels", "tiles", "box"};
    text->add("%s", kNames[static_cast<int32_t>(plan.route)]);
    if (plan.tile[0] != 0) {
        text->add(" of %lld x %lld", as_printed(plan.tile[0]), as_printed(plan.tile[1]));
    } else if (plan.route == KernelRoute::Elements) {
        text->add(", %u for a thread", plan.has_many_axes ? plan.params.elements_many.each : plan.params.elements.each);
    }
    const kernels::Info &info = kernels::info(plan.kernel);
    text->add(", elements of %d bytes, %d at once, %s, %u blocks of %u threads", plan.element, plan.word, info.name,
              plan.blocks, info.threads);
}

}  // namespace via::cuda
