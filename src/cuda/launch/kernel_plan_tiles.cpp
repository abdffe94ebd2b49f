// Plans of copies that turn: adjacent along one index in dst, along another in src.
#include <algorithm>
#include <bit>

#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/kernel_plan_tiles.hpp"

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

// A kernel, and how many sixteens its tiles have along both runs where these are long.
struct Choice {
    Id kernel;
    int32_t element;
    int32_t a_words;
    int32_t b_words;
    int32_t earlier;  // sixteens that they begin before the first that they store
};

using AnyTile = kernels::Tile<16, false, 256, 4, 1>;
constexpr int32_t kOfSmall = kernels::Tile<2, true, 256, 1, 2>::kEarlier;
constexpr int32_t kOfLarge = kernels::Tile<8, true, 256, 1, 1>::kEarlier;

constexpr Choice kAligned[] = {{Id::via_tile_1, 1, 8, 16, 0},
                               {Id::via_tile_2, 2, 16, 16, 0},
                               {Id::via_tile_4, 4, 16, 16, 0},
                               {Id::via_tile_8, 8, 32, 16, 0},
                               {Id::via_tile_16, 16, 32, 32, 0}};
constexpr Choice kLoose[] = {{Id::via_tile_loose_1, 1, 16, 8, kOfSmall},
                             {Id::via_tile_loose_2, 2, 16, 8, kOfSmall},
                             {Id::via_tile_loose_4, 4, 16, 8, kOfLarge},
                             {Id::via_tile_loose_8, 8, 32, 8, kOfLarge}};

// Where one run is short, or ends soon behind a tile, the other makes up for it, as far as the kernel's lists of
// offsets go.
void cut(const Choice &choice, const Run &a, const Run &b, TileParams *params) {
    const int64_t per_word = 16 / choice.element;
    const int64_t squares = choice.a_words * choice.b_words;
    const int64_t unit = choice.earlier > 0 ? 2 : 1;  // loose tiles have whole sectors
    const int64_t a_all = divide_up(divide_up(a.count, per_word) + 2 * choice.earlier, unit) * unit;
    const int64_t b_all = divide_up(b.count, per_word);
    const int64_t a_most = a.ndim > 1 ? AnyTile::kMostListedA / per_word : squares;
    const int64_t b_most = b.ndim > 1 ? AnyTile::kMostListedB / per_word : squares;
    int64_t b_words = divide_up(b_all, divide_up(b_all, choice.b_words));
    const int64_t a_words = std::min({squares / b_words / unit * unit, a_all, a_most});
    if (a_words < choice.a_words) {
        b_words = std::min({squares / a_words, b_all, b_most});
    }
    params->a_words = kernels::make_divisor<uint32_t>(a_words);
    params->b_words = kernels::make_divisor<uint32_t>(b_words);
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

// Where tiles have little, because both runs are short or end soon behind a tile, much of a block is idle.
bool is_used_well(const Choice &choice, const Run &a, const Run &b, int64_t tiles) {
    constexpr double kLeastUse = 0.3;
    const int64_t per_word = 16 / choice.element;
    const int64_t room = choice.a_words * choice.b_words * per_word * per_word;
    return static_cast<double>(a.count) * static_cast<double>(b.count) >=
           kLeastUse * static_cast<double>(tiles) * static_cast<double>(room);
}

bool fill(const Shape &shape, const Choice &choice, const Run &a, const Run &b, Taken taken, KernelPlan *plan) {
    TileParams &params = plan->params.tile;
    const int64_t per_word = 16 / choice.element;
    cut(choice, a, b, &params);
    params.dst = shape.dst;
    params.src = shape.src;
    params.extent = shape.extent;
    plan->tile[0] = (int64_t{params.a_words.divisor} - choice.earlier) * per_word;
    plan->tile[1] = int64_t{params.b_words.divisor} * per_word;
    // Rows of loose tiles may begin a sector's rest before the run.
    const int64_t before = choice.earlier > 0 ? choice.earlier * per_word - 1 : 0;
    const int64_t a_tiles = divide_up(a.count + before, plan->tile[0]);
    const int64_t b_tiles = divide_up(b.count, plan->tile[1]);
    int64_t tiles = a_tiles * b_tiles;
    if (!is_used_well(choice, a, b, tiles) || !fits_index(tiles) || !fill_run(shape, a, a_tiles, &params.a) ||
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
    make_forward(&shape, source_axis);  // as runs of src go in the kernel
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
