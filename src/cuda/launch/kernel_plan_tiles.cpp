// Plans of transposes: adjacent along one index in dst, along another in src.
#include "cuda/launch/kernel_plan_tiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "cuda/launch/kernel_cost.hpp"

namespace via::cuda {
namespace {

using kernels::Id;
using kernels::TileParams;

// A run takes further axes until it has this many elements: few tiles are then cut short at its end.
constexpr int64_t kEnough = 2048;

// Bytes of src from one that tiles take to the next.
constexpr int64_t kMostPitch = 4;

// One of the two indices, while it is built.
struct Run {
    int64_t Axis::*adjacent;  // the steps of the side that it is adjacent in
    int64_t Axis::*other;
    int64_t pitch = 1;  // elements of that side from one index to the next
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

// Returns the axis that continues the run, or -1.
int32_t find_next(const Shape &shape, const Run &run, Taken taken) {
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if ((taken >> i & 1) == 0 && shape.axes[i].*run.adjacent == run.count * run.pitch * shape.element) {
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

// Extends the shorter run first, which makes better use of an axis that both could take.
void extend_both(const Shape &shape, Run *a, Run *b, Taken *taken) {
    for (bool longer = true; longer;) {
        Run *shorter = a->count <= b->count ? a : b;
        longer = extend(shape, shorter, taken) || extend(shape, shorter == a ? b : a, taken);
    }
}

// Returns whether the other side of each run, and both sides of all other axes, keep to whole sixteens.
bool is_aligned(const Shape &shape, const Run &a, const Run &b, Taken taken) {
    if (b.pitch > 1) {
        return false;
    }
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

// A kernel, and the sixteens of its tiles along both long runs.
struct Choice {
    Id kernel;
    int32_t element;
    int32_t a_words;
    int32_t b_words;
    int32_t earlier;  // sixteens that they begin before the first that they store
    KernelRates rates;

    int64_t per_word() const { return 16 / element; }
};

using AnyTile = kernels::Tile<16, false, 256, 4, 1>;
constexpr int32_t kOfSmall = kernels::Tile<2, true, 256, 1, 2, 1024>::kEarlier;
constexpr int32_t kOfLarge = kernels::Tile<8, true, 128, 1, 1, 1536>::kEarlier;

constexpr Choice kAligned[] = {{Id::via_tile_1, 1, 8, 16, 0, {4, 1.9e6, 4e-3, 0.47}},
                               {Id::via_tile_2, 2, 16, 16, 0, {3.6, 2.4e6, 8.6e-3, 0.47}},
                               {Id::via_tile_4, 4, 16, 16, 0, {3.8, 2.5e6, 4.5e-3, 0.47}},
                               {Id::via_tile_8, 8, 32, 16, 0, {4.2, 1.83e6, 1.6e-3, 0.47}},
                               {Id::via_tile_16, 16, 32, 32, 0, {4.5, 2.07e6, 1.7e-3, 0.47}}};
constexpr Choice kLoose[] = {{Id::via_tile_loose_1, 1, 8, 8, kOfSmall, {6.2, 2.5e6, 5.3e-3, 0.22}},
                             {Id::via_tile_loose_2, 2, 16, 8, kOfSmall, {5.7, 2.26e6, 4.7e-3, 0.22}},
                             {Id::via_tile_loose_4, 4, 16, 8, kOfLarge, {5.4, 3.2e6, 2.1e-3, 0.87}},
                             {Id::via_tile_loose_8, 8, 16, 8, kOfLarge, {4.9, 3.2e6, 1.2e-3, 0.87}}};

const Choice &choice_of(const Shape &shape, bool aligned) {
    return (aligned ? kAligned : kLoose)[std::countr_zero(static_cast<uint32_t>(shape.element))];
}

// Sixteens of a tile along both runs.
struct Cut {
    int64_t a_words;
    int64_t b_words;
};

// Cuts b into equal parts of at most so many sixteens. If one run is short, or ends soon after a tile, the other one is
// longer. The kernel's lists of offsets are the limit.
Cut cut_by(const Choice &choice, const Run &a, const Run &b, int64_t b_wanted) {
    const int64_t per_word = choice.per_word();
    const int64_t squares = choice.a_words * choice.b_words;
    const int64_t unit = choice.earlier == kOfLarge ? 2 : 1;  // whole sectors
    const int64_t a_all = divide_up(divide_up(a.count, per_word) + 2 * choice.earlier, unit) * unit;
    const int64_t b_all = divide_up((b.count - 1) * b.pitch + 1, per_word);
    const int64_t a_most = a.ndim > 1 ? AnyTile::kMostListedA / per_word : squares;
    const int64_t b_most = b.ndim > 1 ? AnyTile::kMostListedB / per_word : squares;
    const int64_t b_words = divide_up(b_all, divide_up(b_all, b_wanted));
    const int64_t a_words = std::min({squares / b_words / unit * unit, a_all, a_most});
    return {a_words, a_words < choice.a_words ? std::min({squares / a_words, b_all, b_most}) : b_words};
}

// Returns the tiles along a run. Rows of loose tiles may begin a sector's rest before the run.
int64_t tiles_along_a(const Choice &choice, const Run &a, int64_t a_words) {
    const int64_t per_word = choice.per_word();
    const int64_t before = choice.earlier > 0 ? choice.earlier * per_word - 1 : 0;
    return divide_up(a.count + before, (a_words - choice.earlier) * per_word);
}

// Returns the indices of b in a tile.
int64_t rows_of(const Choice &choice, const Run &b, int64_t b_words) {
    return divide_up(b_words * choice.per_word(), b.pitch);
}

int64_t tiles_along_b(const Choice &choice, const Run &b, int64_t b_words) {
    return divide_up(b.count, rows_of(choice, b, b_words));
}

// Estimates the work of a loose cut: its tiles, and the sectors that short rows of tiles share with others.
double work_of(const Choice &choice, const Run &a, const Run &b, const Cut &cut) {
    const auto tiles =
        static_cast<double>(tiles_along_a(choice, a, cut.a_words) * tiles_along_b(choice, b, cut.b_words));
    return tiles * (1 + 1.0 / static_cast<double>(cut.b_words)) *
           (1 + 0.5 / static_cast<double>(cut.a_words - choice.earlier));
}

// Sizes the tiles: as the kernel likes it, or so that clearly fewer loose ones do.
Cut cut(const Choice &choice, const Run &a, const Run &b) {
    constexpr double kClearly = 0.87;
    Cut best = cut_by(choice, a, b, choice.b_words);
    if (choice.earlier == 0) {
        return best;
    }
    double least = kClearly * work_of(choice, a, b, best);
    for (const int64_t b_wanted : {3, 4, 5, 6, 7, 10, 12, 14, 16}) {
        const Cut other = cut_by(choice, a, b, b_wanted);
        const double work = other.a_words > choice.earlier ? work_of(choice, a, b, other) : INFINITY;
        if (work < least) {
            least = work;
            best = other;
        }
    }
    return best;
}

// Returns how many threads store a row together, as the power of two: so that all rows take the fewest instructions.
// At least those of a line are adjacent.
uint32_t lanes_of(const Choice &choice, const Run &a, const TileParams &params) {
    constexpr uint32_t kRow = 30;  // instructions for each row and each sixteen
    constexpr uint32_t kWord = 25;
    const uint32_t stored = params.a_words.divisor - static_cast<uint32_t>(choice.earlier);
    const auto words = static_cast<uint32_t>(std::min<int64_t>(stored, a.count / choice.per_word() + 1));
    const uint32_t threads = kernels::info(choice.kernel).threads;
    uint32_t best = 5;
    uint32_t least = UINT32_MAX;
    for (uint32_t bits = words > 4 ? 3 : words > 2 ? 2 : words - 1; bits <= 5; ++bits) {
        const uint32_t turns = (params.b_rows * (1U << bits) + threads - 1) / threads;
        const uint32_t work = turns * (kRow + kWord * ((words + (1U << bits) - 1) >> bits));
        if (work < least) {
            least = work;
            best = bits;
        }
    }
    return best;
}

// Returns whether the rows of a tile are whole, and each begins where the one before ends.
bool are_joined(const Shape &shape, const Choice &choice, const Run &a, const Run &b, int64_t a_tiles) {
    return choice.earlier == kOfSmall && a_tiles == 1 && a.count >= choice.per_word() && b.ndim == 1 &&
           shape.axes[b.axes[0]].dst_step == a.count * shape.element;
}

bool fill_run(const Shape &shape, const Run &run, int64_t tiles, TileParams::Run *out) {
    if (!fits_index(run.count * run.pitch)) {
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

// Returns whether tiles are full enough. If both runs are short or end soon after a tile, much of a block is idle.
bool is_used_well(const Choice &choice, const Run &a, const Run &b, int64_t tiles) {
    constexpr double kLeastUse = 0.3;
    const int64_t per_word = choice.per_word();
    const int64_t room = choice.a_words * choice.b_words * per_word * per_word;
    return static_cast<double>(a.count) * static_cast<double>(b.count * b.pitch) >=
           kLeastUse * static_cast<double>(tiles) * static_cast<double>(room);
}

// Returns whether all steps but those between neighbours keep to whole lines of the cache.
bool keeps_to_lines(const Shape &shape) {
    constexpr uint64_t kLine = 128;
    uint64_t all = shape.dst | shape.src;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        for (const int64_t step : {shape.axes[i].dst_step, shape.axes[i].src_step}) {
            all |= std::abs(step) == shape.element ? 0 : static_cast<uint64_t>(step);
        }
    }
    return all % kLine == 0;
}

// Adds as much of a run's axes as so many of its indices take.
void add_axes(const Shape &shape, const Run &run, int64_t left, Region *src) {
    for (int32_t i = 0; i < run.ndim; ++i) {
        const Axis &axis = shape.axes[run.axes[i]];
        const int64_t extent = std::min(left, axis.extent);
        src->add(extent, axis.src_step);
        left = divide_up(left, extent);
    }
}

// Returns the bytes of the bursts that a tile reads, for one that it stores.
double read_by_tile(const Shape &shape, const Choice &choice, const Run &a, const Run &b, const Cut &size) {
    const int64_t a_count = std::min(a.count, size.a_words * choice.per_word());
    const int64_t b_count = std::min(b.count, rows_of(choice, b, size.b_words));
    Region src;
    add_axes(shape, a, a_count, &src);
    add_axes(shape, b, b_count, &src);
    uint64_t begins = shape.src;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const bool within = std::find(b.axes, b.axes + b.ndim, i) != b.axes + b.ndim;
        begins |= within ? 0 : static_cast<uint64_t>(shape.axes[i].src_step);
    }
    return src.count_units(shape.element, alignment_in(begins), kBurstBytes) * kBurstBytes /
           static_cast<double>(a_count * b_count * shape.element);
}

// Returns how much tiles load for what they store: much more in rows of few sixteens.
double loaded_of_stored(const Choice &choice, int64_t a_words) {
    return static_cast<double>(a_words) / static_cast<double>(a_words - choice.earlier);
}

// Estimates microseconds. Large elements move faster by whole lines: fewer of them make up a row of a tile. Rows of
// small ones that begin anywhere are stored in parts of 1, 2, 4 and 8 bytes there.
double cost_of(const Shape &shape, const Choice &choice, const Run &a, const Run &b, const Cut &size,
               const KernelPlan &plan) {
    constexpr double kPart = 3.3e-6;
    constexpr double kByLines = 1.11;
    KernelRates rates = choice.rates;
    rates.per_block *= 0.5 + 0.5 / static_cast<double>(b.pitch);
    rates.per_block *= loaded_of_stored(choice, size.a_words) / loaded_of_stored(choice, choice.a_words);
    rates.bytes *= choice.element >= 8 && keeps_to_lines(shape) ? kByLines : 1;
    const bool in_parts = choice.earlier == kOfSmall && plan.params.tile.joined.divisor == 0;
    const auto row = static_cast<double>(std::min(a.count, size.a_words * choice.per_word()) * shape.element);
    const double parts = in_parts ? static_cast<double>(shape.nbytes) / row * 4 / shape.element : 0;
    return cost_of_blocks(shape, plan.blocks, read_by_tile(shape, choice, a, b, size), rates) + parts * kPart;
}

bool fill(const Shape &shape, const Choice &choice, const Run &a, const Run &b, Taken taken, KernelPlan *plan) {
    TileParams &params = plan->params.tile;
    const int64_t per_word = choice.per_word();
    const Cut size = cut(choice, a, b);
    params.a_words = kernels::make_divisor<uint32_t>(size.a_words);
    params.b_words = kernels::make_divisor<uint32_t>(size.b_words);
    params.pitch = static_cast<uint32_t>(size.a_words < AnyTile::kLongRow ? size.a_words : size.a_words | 1);
    params.b_rows = static_cast<uint32_t>(rows_of(choice, b, size.b_words));
    params.b_pitch = static_cast<uint32_t>(b.pitch);
    params.lane_bits = lanes_of(choice, a, params);
    params.dst = shape.dst;
    params.src = shape.src;
    params.extent = shape.extent;
    params.whole = kernels::whole_of(shape.extent);
    plan->tile[0] = (size.a_words - choice.earlier) * per_word;
    plan->tile[1] = params.b_rows;
    const int64_t a_tiles = tiles_along_a(choice, a, size.a_words);
    const int64_t b_tiles = tiles_along_b(choice, b, size.b_words);
    params.joined = are_joined(shape, choice, a, b, a_tiles) ? kernels::make_divisor<uint32_t>(a.count)
                                                             : kernels::Divisor<uint32_t>{};
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
    plan->cost = cost_of(shape, choice, a, b, size, *plan);
    return true;
}

// Returns the axis along which src is adjacent, or nearly so, in either direction, or -1.
int32_t find_source_axis(const Shape &shape) {
    const int64_t most = shape.element == 1 ? kMostPitch : 1;
    int32_t best = -1;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        const int64_t step = std::abs(shape.axes[i].src_step);
        if (step != 0 && step <= most * shape.element && (best < 0 || step < std::abs(shape.axes[best].src_step))) {
            best = i;
        }
    }
    return best;
}

}  // namespace

bool plan_tiles(const Shape &given, KernelPlan *plan) {
    const int32_t source_axis = find_source_axis(given);
    if (given.axes[0].dst_step != given.element || source_axis <= 0) {
        return false;
    }
    Shape shape = given;
    make_forward(&shape, source_axis);  // as runs of src go in the kernel
    Taken taken = 0;
    Run a{&Axis::dst_step, &Axis::src_step};
    Run b{&Axis::src_step, &Axis::dst_step, shape.axes[source_axis].src_step / shape.element};
    take(shape, 0, &a, &taken);
    take(shape, source_axis, &b, &taken);
    extend_both(shape, &a, &b, &taken);
    return fill(shape, choice_of(shape, is_aligned(shape, a, b, taken)), a, b, taken, plan);
}

// Plans of copies that interleave a few channels into pixels, or split them.
namespace {

using kernels::ChannelsParams;

constexpr int64_t kLeast = 2;
constexpr int64_t kMost = 4;
constexpr int32_t kMostElement = 4;  // bytes

constexpr Id kJoined[][3] = {{Id::via_joined_1_2, Id::via_joined_1_3, Id::via_joined_1_4},
                             {Id::via_joined_2_2, Id::via_joined_2_3, Id::via_joined_2_4},
                             {Id::via_joined_4_2, Id::via_joined_4_3, Id::via_joined_4_4}};
constexpr Id kSplit[][3] = {{Id::via_split_1_2, Id::via_split_1_3, Id::via_split_1_4},
                            {Id::via_split_2_2, Id::via_split_2_3, Id::via_split_2_4},
                            {Id::via_split_4_2, Id::via_split_4_3, Id::via_split_4_4}};

// The axes of a picture: the pixels of a row, and the channels of a pixel (-1 if only one is taken).
struct Picture {
    bool joined;
    int64_t channels;  // of a pixel
    int64_t taken;
    int64_t step;  // bytes from one channel's row to the next one's
    int32_t pixel_axis;
    int32_t channel_axis;
};

bool are_few(int64_t channels) { return channels >= kLeast && channels <= kMost; }

// Finds pixels that are adjacent in dst.
bool find_joined(const Shape &shape, Picture *out) {
    const Axis &channel = shape.axes[0];
    if (!are_few(channel.extent) || shape.ndim < 2 || channel.src_step == shape.element) {
        return false;
    }
    const Axis &pixel = shape.axes[1];
    *out = {true, channel.extent, channel.extent, channel.src_step, 1, 0};
    return pixel.dst_step == channel.extent * shape.element && pixel.src_step == shape.element;
}

// Finds pixels that are adjacent in src, with possibly more channels than are taken. A single channel is worth it only
// if elements are smaller than a thread's words.
bool find_split(Shape *shape, Picture *out) {
    const int64_t channels = shape->axes[0].src_step / shape->element;
    if (!are_few(channels)) {
        return false;
    }
    *out = {false, channels, 1, 0, 0, -1};
    for (int32_t i = 1; i < shape->ndim && out->channel_axis < 0; ++i) {
        if (std::abs(shape->axes[i].src_step) == shape->element && shape->axes[i].extent <= channels) {
            make_forward(shape, i);
            out->channel_axis = i;
            out->taken = shape->axes[i].extent;
            out->step = shape->axes[i].dst_step;
        }
    }
    return out->taken > 1 || shape->element < 4;
}

// Returns whether every row of dst begins at a multiple of sixteen bytes.
bool has_aligned_rows(const Shape &shape, const Picture &picture) {
    uint64_t all = shape.dst | static_cast<uint64_t>(picture.joined ? 0 : picture.step);
    for (int32_t i = 0; i < shape.ndim; ++i) {
        if (i != picture.pixel_axis && i != picture.channel_axis) {
            all |= static_cast<uint64_t>(shape.axes[i].dst_step);
        }
    }
    return all % 16 == 0;
}

// Sets what does not depend on how rows are cut.
void begin_channels(const Shape &shape, const Picture &picture, ChannelsParams *params) {
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    params->count = static_cast<uint32_t>(shape.axes[picture.pixel_axis].extent);
    params->taken = static_cast<uint32_t>(picture.taken);
    params->channel_step = picture.step;
}

void name_kernel(const Shape &shape, const Picture &picture, int64_t tile, KernelPlan *plan) {
    const auto index = std::countr_zero(static_cast<uint32_t>(shape.element));
    const int64_t pixels = tile * picture.channels;
    plan->route = KernelRoute::Channels;
    plan->kernel = (picture.joined ? kJoined : kSplit)[index][picture.channels - kLeast];
    plan->element = shape.element;
    plan->word = 16;
    plan->tile[0] = picture.joined ? pixels : tile;
    plan->tile[1] = picture.joined ? tile : pixels;
}

// `use`: the part of its tiles that a row fills. A block that moves little takes nearly as long as one that moves all.
KernelRates rates_of(const Shape &shape, const Picture &picture, bool aligned, double use) {
    constexpr double kStart[] = {4.6, 5.7, 3.7};
    const double of_channel = aligned ? 3.5e-4 : picture.joined ? 4.4e-4 : 5.5e-4;
    return {.start = kStart[std::countr_zero(static_cast<uint32_t>(shape.element))],
            .bytes = 2.4e6,
            .per_block = of_channel * static_cast<double>(picture.channels) * (0.75 + 0.25 / use),
            .wasted = 0.46};
}

bool fill_channels(const Shape &shape, const Picture &picture, KernelPlan *plan) {
    using Kernel = kernels::Channels<1, 2, true>;
    ChannelsParams &params = plan->params.channels;
    const int64_t count = shape.axes[picture.pixel_axis].extent;
    const bool aligned = has_aligned_rows(shape, picture);
    params.early = aligned ? 0 : Kernel::kEarly;
    const int64_t tile = (Kernel::kThreads - params.early) * (16 / shape.element);
    // Rows that begin anywhere may begin a sector's rest before their first tile.
    int64_t tiles = divide_up(count + (aligned ? 0 : Kernel::kSector / shape.element - 1), tile);
    if (!fits_index((count + tile) * picture.channels)) {
        return false;
    }
    const double use = static_cast<double>(count) / static_cast<double>(tiles * tile);
    begin_channels(shape, picture, &params);
    params.tiles = kernels::make_divisor<uint32_t>(tiles);
    const uint64_t channel_bit = picture.channel_axis >= 0 ? uint64_t{1} << picture.channel_axis : 0;
    if (!fill_outer(shape, channel_bit | uint64_t{1} << picture.pixel_axis, &params, &tiles)) {
        return false;
    }
    name_kernel(shape, picture, tile, plan);
    plan->blocks = static_cast<uint32_t>(tiles);
    plan->cost = cost_of_blocks(shape, plan->blocks, read_per_byte(shape), rates_of(shape, picture, aligned, use));
    return true;
}

}  // namespace

bool plan_channels(const Shape &given, KernelPlan *plan) {
    if (given.axes[0].dst_step != given.element || given.element > kMostElement) {
        return false;
    }
    Shape shape = given;
    Picture picture;
    return (find_joined(shape, &picture) || find_split(&shape, &picture)) && fill_channels(shape, picture, plan);
}

}  // namespace via::cuda
