// Plans of copies that turn elements whose runs share axes: channels put together or taken apart, records turned.
#include <algorithm>

#include "cuda/kernel_plan.hpp"

namespace via::cuda {
namespace {

using kernels::GatherParams;
using kernels::Id;

// More indices beside the one that runs on are left to tiles.
constexpr int64_t kMostChannels = 15;
constexpr int64_t kMostRecord = 64;  // bytes
constexpr uint32_t kBytes = kernels::Gather<1>::kBytes;
constexpr uint32_t kMostRows = kernels::Gather<1>::kMostRows;
constexpr int64_t kMostTilesPerBlock = 8;
constexpr int64_t kLeastBlocks = 4096;

Id kernel_of(int32_t element) {
    switch (element) {
        case 1:
            return Id::via_gather_1;
        case 2:
            return Id::via_gather_2;
        case 4:
            return Id::via_gather_4;
        default:
            return Id::via_gather_8;
    }
}

void begin(const Shape &shape, GatherParams *params) {
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    params->dst_run.ndim = params->dst_rows.ndim = params->src_rows.ndim = 0;
    params->dst_run.count = params->dst_rows.count = params->src_rows.count = 1;
}

void append(GatherParams::List *list, int64_t extent, int64_t step, int64_t shared_step) {
    list->axes[list->ndim++] = {kernels::make_divisor<uint32_t>(extent), step, static_cast<int32_t>(shared_step)};
    list->count *= static_cast<uint32_t>(extent);
}

GatherParams::Cut cut_axis(const Axis &axis, int64_t tile) {
    return {static_cast<uint32_t>(axis.extent), static_cast<uint32_t>(tile),
            kernels::make_divisor<uint32_t>(divide_up(axis.extent, tile)), axis.dst_step, axis.src_step};
}

constexpr GatherParams::Cut kNoCut{1, 1, {1, 0, 0}, 0, 0};

// Rows begin at multiples of the word.
int64_t pitch_of(int64_t bytes, int64_t word) { return divide_up(bytes, word) * word; }

// The rest, once runs, rows, pitch and cuts are there.
bool finish(const Shape &shape, uint64_t inner_axes, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const int64_t word = std::max(shape.element, 4);
    const int64_t loose = word - shape.element;
    params.src_words = kernels::make_divisor<uint32_t>(divide_up(params.src_run * shape.element, word));
    params.dst_words = kernels::make_divisor<uint32_t>(divide_up(params.dst_run.count * shape.element + loose, word));
    int64_t tiles = int64_t{params.cuts[0].tiles.divisor} * params.cuts[1].tiles.divisor;
    if (!fits_index(tiles) || !fill_outer(shape, inner_axes, &params, &tiles)) {
        return false;
    }
    const int64_t per_block = std::clamp<int64_t>(tiles / kLeastBlocks, 1, kMostTilesPerBlock);
    params.tiles = static_cast<uint32_t>(tiles);
    params.tiles_per_block = static_cast<uint32_t>(per_block);
    plan->route = KernelRoute::Gather;
    plan->kernel = kernel_of(shape.element);
    plan->blocks = static_cast<uint32_t>(divide_up(tiles, per_block));
    plan->element = shape.element;
    plan->word = static_cast<int32_t>(word);
    plan->tile[0] = params.dst_run.count;
    plan->tile[1] = params.src_run;
    return true;
}

constexpr uint64_t bit(int32_t axis) { return uint64_t{1} << axis; }

// dst: channels, then x; src: x, the channels anywhere.
bool plan_together(const Shape &shape, int32_t x, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const Axis &channels = shape.axes[0];
    const Axis &along = shape.axes[x];
    const int64_t tile = std::min(kBytes / shape.element / channels.extent / 16 * 16, along.extent);
    // Neighbouring channels lie so far apart that those who read one element after another seldom meet in a bank.
    const int64_t apart = divide_up(32, channels.extent) * 4;
    const int64_t pitch = pitch_of(tile * shape.element, 128) + apart;
    begin(shape, &params);
    params.same_cut = true;
    params.cuts[0] = cut_axis(along, tile);
    params.cuts[1] = kNoCut;
    append(&params.dst_run, channels.extent, 0, pitch);
    append(&params.dst_run, tile, 0, shape.element);
    append(&params.src_rows, channels.extent, channels.src_step, pitch);
    params.dst_run.unit = static_cast<uint32_t>(channels.extent);
    params.src_run = static_cast<uint32_t>(tile);
    params.src_unit = 1;
    params.pitch = static_cast<uint32_t>(pitch);
    return finish(shape, bit(0) | bit(x), plan);
}

// dst: x, the channels anywhere; src: channels, then x.
bool plan_apart(const Shape &shape, int32_t channel_axis, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const Axis &channels = shape.axes[channel_axis];
    const Axis &along = shape.axes[0];
    const int64_t tile = std::min(kBytes / shape.element / channels.extent / 16 * 16, along.extent);
    begin(shape, &params);
    params.same_cut = true;
    params.cuts[0] = cut_axis(along, tile);
    params.cuts[1] = kNoCut;
    append(&params.dst_run, tile, 0, channels.extent * shape.element);
    append(&params.dst_rows, channels.extent, channels.dst_step, shape.element);
    params.dst_run.unit = 1;
    params.src_run = static_cast<uint32_t>(tile * channels.extent);
    params.src_unit = static_cast<uint32_t>(channels.extent);
    params.pitch = 0;
    return finish(shape, bit(0) | bit(channel_axis), plan);
}

// Fields first in both, then x in dst and y in src.
bool plan_records(const Shape &shape, int32_t x, int32_t y, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const int64_t fields = shape.axes[0].extent;
    const Axis &of_dst = shape.axes[x];
    const Axis &of_src = shape.axes[y];
    int64_t side = 16;
    while (4 * side * side * shape.run <= kBytes && side < kMostRows) {
        side *= 2;
    }
    const int64_t dst_tile = std::min(of_dst.extent, side);
    const int64_t src_tile = std::min(of_src.extent, side);
    // Records that follow one another in dst come from neighbouring rows: their words lie in neighbouring banks.
    const int64_t word = std::max(shape.element, 4);
    const int64_t pitch = pitch_of(src_tile * shape.run, 128) + pitch_of(shape.run, word);
    if (pitch * dst_tile > static_cast<int64_t>(sizeof(kernels::Gather<1>::Shared::data))) {
        return false;
    }
    begin(shape, &params);
    params.same_cut = false;
    params.cuts[0] = cut_axis(of_dst, dst_tile);
    params.cuts[1] = cut_axis(of_src, src_tile);
    append(&params.dst_run, fields, 0, shape.element);
    append(&params.dst_run, dst_tile, 0, pitch);
    append(&params.dst_rows, src_tile, of_src.dst_step, shape.run);
    append(&params.src_rows, dst_tile, of_dst.src_step, pitch);
    params.dst_run.unit = params.src_unit = static_cast<uint32_t>(fields);
    params.dst_rows.unit = params.src_rows.unit = 1;
    params.src_run = static_cast<uint32_t>(src_tile * fields);
    params.pitch = static_cast<uint32_t>(pitch);
    return finish(shape, bit(0) | bit(x) | bit(y), plan);
}

bool is_indexable(const Axis &axis) { return fits_index(axis.extent); }

int32_t find_axis(const Shape &shape, int64_t Axis::*step, int64_t bytes) {
    for (int32_t i = 1; i < shape.ndim; ++i) {
        if (shape.axes[i].*step == bytes && is_indexable(shape.axes[i])) {
            return i;
        }
    }
    return -1;
}

bool plan_turned_records(const Shape &shape, KernelPlan *plan) {
    const int32_t x = find_axis(shape, &Axis::dst_step, shape.run);
    const int32_t y = find_axis(shape, &Axis::src_step, shape.run);
    return shape.run <= kMostRecord && x > 0 && y > 0 && x != y && plan_records(shape, x, y, plan);
}

bool plan_channels(const Shape &shape, KernelPlan *plan) {
    const Axis &first = shape.axes[0];
    if (const int32_t x = find_axis(shape, &Axis::dst_step, first.extent * shape.element);
        first.extent <= kMostChannels && x > 0 && shape.axes[x].src_step == shape.element) {
        return plan_together(shape, x, plan);
    }
    const int32_t channels = find_axis(shape, &Axis::src_step, shape.element);
    return channels > 0 && shape.axes[channels].extent <= kMostChannels && is_indexable(first) &&
           first.src_step == shape.axes[channels].extent * shape.element && plan_apart(shape, channels, plan);
}

}  // namespace

bool plan_gather(const Shape &shape, KernelPlan *plan) {
    if (shape.axes[0].dst_step != shape.element || shape.element > 8) {
        return false;
    }
    return shape.axes[0].src_step == shape.element ? plan_turned_records(shape, plan) : plan_channels(shape, plan);
}

}  // namespace via::cuda
