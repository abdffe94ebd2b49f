// Plans of copies that turn: adjacent along one index in dst, along another in src.
#include <algorithm>
#include <bit>

#include "cuda/kernel_plan.hpp"

namespace via::cuda {
namespace {

using kernels::Id;
using kernels::TileParams;

// A run that takes in further axes until it has so many elements: few tiles are cut short at its end then.
constexpr int64_t kEnough = 2048;

// One of the two indices while it is made.
struct Run {
    int64_t Axis::*adjacent;  // the steps of the side that it is adjacent in
    int64_t Axis::*other;
    int64_t count = 1;
    int32_t ndim = 0;
    int32_t axes[TileParams::kRunAxes] = {};
};

// Axes that one of the runs has.
using Taken = uint64_t;

void take(const Shape &shape, int32_t axis, Run *run, Taken *taken) {
    run->count *= shape.axes[axis].extent;
    run->axes[run->ndim++] = axis;
    *taken |= Taken{1} << axis;
}

// The axis that goes on where the run ends; -1 if there is none.
int32_t find_next(const Shape &shape, const Run &run, Taken taken) {
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if ((taken >> i & 1) == 0 && shape.axes[i].*run.adjacent == run.count * shape.element) {
            return i;
        }
    }
    return -1;
}

bool extend(const Shape &shape, Run *run, Taken *taken) {
    const int32_t next = run->count < kEnough && run->ndim < TileParams::kRunAxes ? find_next(shape, *run, *taken) : -1;
    if (next < 0) {
        return false;
    }
    take(shape, next, run, taken);
    return true;
}

// The shorter one first: an axis that both could have is better used there.
void extend_both(const Shape &shape, Run *a, Run *b, Taken *taken) {
    for (bool longer = true; longer;) {
        Run *shorter = a->count <= b->count ? a : b;
        longer = extend(shape, shorter, taken) || extend(shape, shorter == a ? b : a, taken);
    }
}

// Whether the axis' other side, and both where it belongs to no run, keep to whole sixteens.
bool is_aligned(const Shape &shape, const Run &a, const Run &b, Taken taken) {
    uint64_t all = shape.dst | shape.src | static_cast<uint64_t>(a.count * shape.element) |
                   static_cast<uint64_t>(b.count * shape.element);
    for (int32_t i = 0; i < a.ndim; ++i) {
        all |= static_cast<uint64_t>(shape.axes[a.axes[i]].src_step);
    }
    for (int32_t i = 0; i < b.ndim; ++i) {
        all |= static_cast<uint64_t>(shape.axes[b.axes[i]].dst_step);
    }
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if ((taken >> i & 1) == 0) {
            all |= static_cast<uint64_t>(shape.axes[i].dst_step) | static_cast<uint64_t>(shape.axes[i].src_step);
        }
    }
    return all % 16 == 0;
}

// A kernel, and how its tiles are cut where both runs are long: 2^a_bits sixteens by 2^b_bits.
struct Choice {
    Id kernel;
    int32_t element;
    int32_t a_bits;
    int32_t b_bits;
    bool loose;
};

constexpr Choice kAligned[] = {{Id::via_tile_1, 1, 3, 4, false},
                               {Id::via_tile_2, 2, 4, 4, false},
                               {Id::via_tile_4, 4, 4, 4, false},
                               {Id::via_tile_8, 8, 5, 4, false},
                               {Id::via_tile_16, 16, 5, 5, false}};
constexpr Choice kLoose[] = {{Id::via_tile_loose_1, 1, 4, 3, true},
                             {Id::via_tile_loose_2, 2, 5, 3, true},
                             {Id::via_tile_loose_4, 4, 5, 3, true},
                             {Id::via_tile_loose_8, 8, 5, 4, true}};

constexpr int32_t kEarlier = kernels::Tile<1, true, 128, 1>::kEarlier;

int32_t bits_of(int64_t count) { return static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(count - 1))); }

// Where one run is short, the other makes up for it, as far as the kernel's lists of offsets go.
void cut(const Choice &choice, const Run &a, const Run &b, TileParams *params) {
    const int32_t per_word = 16 / choice.element;
    const int32_t all = choice.a_bits + choice.b_bits;
    const int32_t a_all = bits_of(divide_up(a.count, per_word) + (choice.loose ? kEarlier + 2 : 0));
    const int32_t b_all = bits_of(divide_up(b.count, per_word));
    const int32_t a_most = a.ndim > 1 ? bits_of(kernels::Tile<1, true, 128, 1>::kMostListedA / per_word) : all;
    const int32_t b_most = b.ndim > 1 ? bits_of(kernels::Tile<1, true, 128, 1>::kMostListedB / per_word) : all;
    const int32_t a_least = std::max(all - b_most, choice.loose ? 2 : 0);
    const int32_t wanted = b_all < choice.b_bits ? all - b_all : std::min(choice.a_bits, a_all);
    params->a_bits = std::clamp(wanted, a_least, std::max(a_least, a_most));
    params->b_bits = all - params->a_bits;
}

bool fill_run(const Shape &shape, const Run &run, int64_t tiles, TileParams::Run *out) {
    if (!fits_index(run.count)) {
        return false;
    }
    out->count = static_cast<uint32_t>(run.count);
    out->ndim = run.ndim;
    out->tiles = kernels::make_divisor<uint32_t>(tiles);
    for (int32_t i = 0; i < run.ndim; ++i) {
        const Axis &axis = shape.axes[run.axes[i]];
        out->axes[i] = {kernels::make_divisor<uint32_t>(axis.extent), axis.*run.other};
    }
    return true;
}

// Of tiles that are cut short by the ends of the runs much is idle.
bool is_used_well(const Run &a, const Run &b, int64_t a_tiles, int64_t b_tiles, const KernelPlan &plan) {
    constexpr double kLeastUse = 0.3;
    const double use = static_cast<double>(a.count) * static_cast<double>(b.count) /
                       (static_cast<double>(a_tiles * plan.tile[0]) * static_cast<double>(b_tiles * plan.tile[1]));
    return use >= kLeastUse;
}

bool fill(const Shape &shape, const Choice &choice, const Run &a, const Run &b, Taken taken, KernelPlan *plan) {
    TileParams &params = plan->params.tile;
    const int64_t per_word = 16 / choice.element;
    cut(choice, a, b, &params);
    params.dst = shape.dst;
    params.src = shape.src;
    params.extent = shape.extent;
    plan->tile[0] = ((int64_t{1} << params.a_bits) - (choice.loose ? kEarlier : 0)) * per_word;
    plan->tile[1] = (int64_t{1} << params.b_bits) * per_word;
    // Rows of loose tiles may begin a sector's rest before the run.
    const int64_t before = choice.loose ? kEarlier * per_word - 1 : 0;
    const int64_t a_tiles = divide_up(a.count + before, plan->tile[0]);
    const int64_t b_tiles = divide_up(b.count, plan->tile[1]);
    int64_t tiles = a_tiles * b_tiles;
    if (!is_used_well(a, b, a_tiles, b_tiles, *plan) || !fits_index(tiles) || !fill_run(shape, a, a_tiles, &params.a) ||
        !fill_run(shape, b, b_tiles, &params.b) || !fill_outer(shape, taken, &params, &tiles)) {
        return false;
    }
    plan->route = KernelRoute::Tiles;
    plan->kernel = choice.kernel;
    plan->blocks = static_cast<uint32_t>(tiles);
    plan->element = choice.element;
    plan->word = 16;
    return true;
}

// Runs of src go forward in the kernel; dst may go backwards instead.
void make_forward(Shape *shape, int32_t axis) {
    Axis &turned = shape->axes[axis];
    if (turned.src_step < 0) {
        shape->dst += static_cast<uint64_t>((turned.extent - 1) * turned.dst_step);
        shape->src += static_cast<uint64_t>((turned.extent - 1) * turned.src_step);
        turned.dst_step = -turned.dst_step;
        turned.src_step = -turned.src_step;
    }
}

// The axis along which src is adjacent, whichever way it goes; -1 if there is none.
int32_t find_source_axis(const Shape &shape) {
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if (magnitude(shape.axes[i].src_step) == shape.element) {
            return i;
        }
    }
    return -1;
}

bool plan_tiles(const Shape &given, bool aligned, KernelPlan *plan) {
    const int32_t source_axis = find_source_axis(given);
    if (given.axes[0].dst_step != given.element || source_axis <= 0) {
        return false;
    }
    Shape shape = given;
    make_forward(&shape, source_axis);
    Taken taken = 0;
    Run a{&Axis::dst_step, &Axis::src_step};
    Run b{&Axis::src_step, &Axis::dst_step};
    take(shape, 0, &a, &taken);
    take(shape, source_axis, &b, &taken);
    extend_both(shape, &a, &b, &taken);
    const auto index = std::countr_zero(static_cast<uint32_t>(shape.element));
    return is_aligned(shape, a, b, taken) == aligned &&
           fill(shape, aligned ? kAligned[index] : kLoose[index], a, b, taken, plan);
}

}  // namespace

bool plan_aligned_tiles(const Shape &shape, KernelPlan *plan) { return plan_tiles(shape, true, plan); }

bool plan_loose_tiles(const Shape &shape, KernelPlan *plan) { return plan_tiles(shape, false, plan); }

}  // namespace via::cuda
