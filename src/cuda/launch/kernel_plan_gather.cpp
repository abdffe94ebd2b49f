// Plans of transposes whose runs share axes: channels, small boxes, records.
#include <algorithm>
#include <cstdlib>

#include "cuda/launch/kernel_plan.hpp"
#include "cuda/launch/kernel_plan_gather.hpp"

namespace via::cuda {
namespace {

using kernels::GatherParams;
using kernels::Id;
using Bytes = kernels::Gather<1>;

// Leaves more parallel runs to tiles.
constexpr int64_t kMostChannels = 15;
constexpr int64_t kMostRecord = 64;   // bytes
constexpr int64_t kMostStep = 8;      // bytes from one element to the next where src has gaps
constexpr int64_t kLeastTile = 1024;  // bytes
constexpr int64_t kMostTilesPerBlock = 32;
constexpr int64_t kEnoughBlocks = 1600;

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

using Taken = uint64_t;

constexpr Taken bit(int32_t axis) { return Taken{1} << axis; }
constexpr bool has(Taken taken, int32_t axis) { return (taken >> axis & 1) != 0; }

// The axes that are adjacent one after the other on one side, from its first element on.
struct Chain {
    int32_t ndim = 0;
    int32_t axes[GatherParams::kBoxAxes] = {};
};

Chain find_chain(const Shape &shape, int64_t Axis::*step) {
    Chain chain;
    int64_t reach = shape.element;
    for (int32_t i = 0; i >= 0 && chain.ndim < GatherParams::kBoxAxes - 1;) {
        i = -1;
        for (int32_t k = 0; k < shape.ndim && i < 0; ++k) {
            i = shape.axes[k].*step == reach && shape.axes[k].extent > 1 ? k : -1;
        }
        if (i >= 0) {
            chain.axes[chain.ndim++] = i;
            reach *= shape.axes[i].extent;
        }
    }
    return chain;
}

// The axes before the cut one, in the runs of either side.
struct Box {
    int32_t cut = -1;
    Chain dst;
    Chain src;
    Taken of_dst = 0;
    Taken of_src = 0;
    int64_t dst_unit = 1;  // elements of a run for one index of the cut
    int64_t src_unit = 1;
    int64_t dst_rows = 1;
    int64_t src_rows = 1;
};

int64_t size_of(const Shape &shape, Taken axes) {
    int64_t size = 1;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        size *= has(axes, i) ? shape.axes[i].extent : 1;
    }
    return size;
}

Box make_slab(const Shape &shape, Chain dst, int32_t dst_count, Chain src, int32_t src_count) {
    Box box;
    box.cut = dst.axes[dst_count];
    box.dst = dst;
    box.src = src;
    box.dst.ndim = dst_count;
    box.src.ndim = src_count;
    for (int32_t i = 0; i < dst_count; ++i) {
        box.of_dst |= bit(dst.axes[i]);
    }
    for (int32_t i = 0; i < src_count; ++i) {
        box.of_src |= bit(src.axes[i]);
    }
    box.dst_unit = size_of(shape, box.of_dst);
    box.src_unit = size_of(shape, box.of_src);
    box.dst_rows = size_of(shape, box.of_src & ~box.of_dst);
    box.src_rows = size_of(shape, box.of_dst & ~box.of_src);
    return box;
}

// Returns the distance of rows. Rows begin at whole sixteens. Their distance keeps threads that read one element of
// each of neighbouring rows in different banks.
int64_t pitch_of(int64_t bytes, int64_t rows) {
    const int64_t apart = rows > 1 ? divide_up(128, rows * 16) * 16 : 0;
    return divide_up(bytes, 128) * 128 + apart;
}

// Returns the indices of the cut axis in a tile, or 0 if a tile would be too small.
int64_t tile_of(const Shape &shape, const Box &box) {
    const int64_t extent = shape.axes[box.cut].extent;
    int64_t tile = std::min(Bytes::kMostRun / shape.element / box.dst_unit,
                            (Bytes::kBytes / box.src_rows - 256) / (box.src_unit * shape.element));
    tile = std::min(tile > 16 ? tile / 16 * 16 : tile, extent);
    return tile * box.dst_unit * box.dst_rows * shape.element >= kLeastTile ? tile : 0;
}

bool is_worth_it(const Shape &shape, const Box &box) {
    return box.dst_rows <= kMostChannels && box.src_rows <= kMostChannels && fits_index(shape.axes[box.cut].extent) &&
           tile_of(shape, box) > 0;
}

// Finds the longest axis that continues the runs of both sides.
Box find_slab(const Shape &shape) {
    const Chain dst = find_chain(shape, &Axis::dst_step);
    const Chain src = find_chain(shape, &Axis::src_step);
    Box best;
    for (int32_t i = 0; i < dst.ndim; ++i) {
        for (int32_t k = 0; k < src.ndim; ++k) {
            if (dst.axes[i] != src.axes[k] || i + k == 0) {
                continue;
            }
            const Box box = make_slab(shape, dst, i, src, k);
            const bool longer = best.cut < 0 || shape.axes[box.cut].extent > shape.axes[best.cut].extent;
            best = longer && is_worth_it(shape, box) ? box : best;
        }
    }
    return best;
}

// ------------------------------------------------------------------------------------------------ params

void begin(const Shape &shape, GatherParams *params) {
    params->dst = shape.dst;
    params->src = shape.src;
    params->extent = shape.extent;
    for (GatherParams::List *list : {&params->dst_run, &params->dst_rows, &params->src_rows}) {
        list->ndim = 0;
        list->count = 1;
        list->unit = 0;
    }
    params->backward = false;
    params->run_begin = 0;
    params->src_past = 0;
}

void append(GatherParams::List *list, int64_t extent, int64_t step, int64_t shared_step) {
    list->axes[list->ndim++] = {kernels::make_divisor<uint32_t>(extent), step, static_cast<int32_t>(shared_step)};
    list->count *= static_cast<uint32_t>(extent);
}

GatherParams::Cut cut_axis(const Axis &axis, int64_t tile) {
    return {static_cast<uint32_t>(axis.extent), static_cast<uint32_t>(tile),
            kernels::make_divisor<uint32_t>(divide_up(axis.extent, tile)), axis.dst_step, axis.src_step};
}

void cut_once(const Axis &axis, int64_t tile, GatherParams *params) {
    params->same_cut = true;
    params->cuts[0] = cut_axis(axis, tile);
    params->cuts[1] = {1, 1, kernels::make_divisor<uint32_t>(1), 0, 0};
}

// Fills in the rest, after runs, rows, pitch and cuts. A whole run of src has `src_bytes`.
bool finish(const Shape &shape, Taken inner_axes, int64_t src_bytes, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const int64_t word = std::max(shape.element, 4);
    const int64_t dst_bytes = int64_t{params.dst_run.count} * shape.element;
    params.src_words = kernels::make_divisor<uint32_t>(divide_up(src_bytes, 16));
    params.dst_words = kernels::make_divisor<uint32_t>(divide_up(dst_bytes + word - shape.element, word));
    int64_t tiles = int64_t{params.cuts[0].tiles.divisor} * params.cuts[1].tiles.divisor;
    if (!fits_index(tiles) || !fill_outer(shape, inner_axes, &params, &tiles)) {
        return false;
    }
    const int64_t per_block = std::clamp<int64_t>(tiles / kEnoughBlocks, 1, kMostTilesPerBlock);
    params.tiles = static_cast<uint32_t>(tiles);
    params.tiles_per_block = static_cast<uint32_t>(per_block);
    plan->route = KernelRoute::Gather;
    plan->kernel = kernel_of(shape.element);
    plan->blocks = static_cast<uint32_t>(divide_up(tiles, per_block));
    plan->element = shape.element;
    plan->word = static_cast<int32_t>(word);
    plan->tile[0] = params.dst_run.count;
    plan->tile[1] = src_bytes / shape.element;
    return true;
}

// ------------------------------------------------------------------------------------------------ one cut

// Places the axes of the box in shared memory: those of runs of src as in src, the others row by row.
void assign_axes(const Shape &shape, const Box &box, int64_t pitch, int64_t *places) {
    int64_t attributes = shape.element;
    for (int32_t i = 0; i < box.src.ndim; ++i) {
        places[box.src.axes[i]] = attributes;
        attributes *= shape.axes[box.src.axes[i]].extent;
    }
    places[box.cut] = attributes;
    int64_t row = pitch;
    for (int32_t i = 0; i < box.dst.ndim; ++i) {
        const int32_t axis = box.dst.axes[i];
        if (!has(box.of_src, axis)) {
            places[axis] = row;
            row *= shape.axes[axis].extent;
        }
    }
}

void list_axes(const Shape &shape, const Box &box, const int64_t *places, int64_t tile, GatherParams *params) {
    for (int32_t i = 0; i < box.dst.ndim; ++i) {
        const int32_t axis = box.dst.axes[i];
        append(&params->dst_run, shape.axes[axis].extent, 0, places[axis]);
        if (!has(box.of_src, axis)) {
            append(&params->src_rows, shape.axes[axis].extent, shape.axes[axis].src_step, 0);
        }
    }
    append(&params->dst_run, tile, 0, places[box.cut]);
    for (int32_t i = 0; i < box.src.ndim; ++i) {
        const int32_t axis = box.src.axes[i];
        if (!has(box.of_dst, axis)) {
            append(&params->dst_rows, shape.axes[axis].extent, shape.axes[axis].dst_step, places[axis]);
        }
    }
}

bool plan_slab(const Shape &shape, KernelPlan *plan) {
    const Box box = find_slab(shape);
    if (box.cut < 0) {
        return false;
    }
    GatherParams &params = plan->params.gather;
    const int64_t tile = tile_of(shape, box);
    const int64_t src_bytes = tile * box.src_unit * shape.element;
    const int64_t pitch = pitch_of(src_bytes, box.src_rows);
    int64_t places[VIA_MAX_NDIM + 1];
    begin(shape, &params);
    assign_axes(shape, box, pitch, places);
    list_axes(shape, box, places, tile, &params);
    cut_once(shape.axes[box.cut], tile, &params);
    params.dst_run.unit = static_cast<uint32_t>(box.dst_unit);
    params.src_unit = static_cast<uint32_t>(box.src_unit);
    params.pitch = static_cast<uint32_t>(pitch);
    return finish(shape, box.of_dst | box.of_src | bit(box.cut), src_bytes, plan);
}

// Plans small elements that are adjacent in dst and strided or reversed in src.
bool plan_spread(const Shape &shape, KernelPlan *plan) {
    const Axis &along = shape.axes[0];
    const int64_t step = std::abs(along.src_step);
    if (shape.element > 1 || step == 0 || step > kMostStep || !fits_index(along.extent)) {
        return false;
    }
    GatherParams &params = plan->params.gather;
    const int64_t most = std::min<int64_t>(Bytes::kMostRun / shape.element, Bytes::kBytes / step - 16);
    const int64_t tile = std::min(most / 16 * 16, along.extent);
    if (tile * shape.element < kLeastTile) {
        return false;
    }
    begin(shape, &params);
    append(&params.dst_run, tile, 0, along.src_step);
    cut_once(along, tile, &params);
    params.dst_run.unit = 1;
    params.src_unit = static_cast<uint32_t>(step / shape.element);
    params.src_past = params.src_unit - 1;
    params.pitch = 0;
    const int64_t reach = (tile - 1) * step;
    if (along.src_step < 0) {
        params.backward = true;
        params.run_begin = static_cast<uint32_t>(reach);
        params.src -= static_cast<uint64_t>(reach);
    }
    return finish(shape, bit(0), reach + shape.element, plan);
}

// ------------------------------------------------------------------------------------------------ two cuts

// Plans records: fields are first in both, followed by x in dst and y in src.
bool plan_records(const Shape &shape, int32_t x, int32_t y, KernelPlan *plan) {
    GatherParams &params = plan->params.gather;
    const Axis &of_dst = shape.axes[x];
    const Axis &of_src = shape.axes[y];
    // Puts words of neighbouring rows into neighbouring banks: records that follow one another in dst come from there.
    const int64_t apart = divide_up(shape.run, 16) * 16;
    int64_t side = 64;
    while ((divide_up(side * shape.run, 128) * 128 + apart) * side > Bytes::kBytes) {
        side -= 8;
    }
    const int64_t dst_tile = std::min(of_dst.extent, side);
    const int64_t src_tile = std::min(of_src.extent, side);
    const int64_t src_bytes = src_tile * shape.run;
    const int64_t pitch = divide_up(src_bytes, 128) * 128 + apart;
    begin(shape, &params);
    params.same_cut = false;
    params.cuts[0] = cut_axis(of_dst, dst_tile);
    params.cuts[1] = cut_axis(of_src, src_tile);
    append(&params.dst_run, shape.axes[0].extent, 0, shape.element);
    append(&params.dst_run, dst_tile, 0, pitch);
    append(&params.dst_rows, src_tile, of_src.dst_step, shape.run);
    append(&params.src_rows, dst_tile, of_dst.src_step, 0);
    params.dst_run.unit = params.src_unit = static_cast<uint32_t>(shape.axes[0].extent);
    params.dst_rows.unit = params.src_rows.unit = 1;
    params.pitch = static_cast<uint32_t>(pitch);
    return finish(shape, bit(0) | bit(x) | bit(y), src_bytes, plan);
}

int32_t find_next(const Shape &shape, int64_t Axis::*step) {
    for (int32_t i = 1; i < shape.ndim; ++i) {
        if (shape.axes[i].*step == shape.run && fits_index(shape.axes[i].extent)) {
            return i;
        }
    }
    return -1;
}

bool plan_transposed_records(const Shape &shape, KernelPlan *plan) {
    const int32_t x = find_next(shape, &Axis::dst_step);
    const int32_t y = find_next(shape, &Axis::src_step);
    return shape.run <= kMostRecord && x > 0 && y > 0 && x != y && plan_records(shape, x, y, plan);
}

}  // namespace

bool plan_gather(const Shape &shape, KernelPlan *plan) {
    if (shape.axes[0].dst_step != shape.element || shape.element > 8) {
        return false;
    }
    if (shape.axes[0].src_step == shape.element && shape.ndim > 1) {
        return plan_transposed_records(shape, plan) || plan_slab(shape, plan);
    }
    return plan_slab(shape, plan) || plan_spread(shape, plan);
}

}  // namespace via::cuda
