#include "core/layout/tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace via {
namespace {

enum class Side { Dst, Src };

int64_t step_of(const Axis &axis, Side side) { return side == Side::Dst ? axis.dst_step : std::abs(axis.src_step); }

// Sorts the axes along which a side moves, small steps first.
int32_t sort_axes(const TileProblem &problem, Side side, int32_t *out_order) {
    int32_t count = 0;
    for (int32_t i = 0; i < problem.ndim; ++i) {
        const int64_t step = step_of(problem.axes[i], side);
        if (step == 0) {
            continue;
        }
        int32_t at = count++;
        for (; at > 0 && step_of(problem.axes[out_order[at - 1]], side) > step; --at) {
            out_order[at] = out_order[at - 1];
        }
        out_order[at] = i;
    }
    return count;
}

// Returns whether the axis continues the run: its next index shares a sector with it.
bool continues_run(const TileProblem &problem, int64_t span, int64_t step) { return step < span + problem.sector; }

// Cuts an axis into equal parts of about `want` indices, whole sectors long if there is room.
int64_t cut_evenly(const TileProblem &problem, int64_t extent, int64_t step, int64_t want, int64_t room) {
    if (want >= extent) {
        return extent;
    }
    const int64_t even = divide_up(extent, divide_up(extent, want));
    const int64_t quantum = problem.sector / std::gcd(problem.sector, step);
    const int64_t whole = divide_up(even, quantum) * quantum;
    const int64_t fits = whole <= room ? whole : room / quantum * quantum;
    return std::min(extent, fits > 0 && quantum <= even ? fits : even);
}

struct Growth {
    const TileProblem &problem;
    int64_t most;
    Tile *tile;
};

// Grows a run along one axis, and returns its new span.
int64_t grow_axis(const Growth &growth, int32_t axis, int64_t step, int64_t span, int64_t target) {
    Tile &tile = *growth.tile;
    const int64_t extent = growth.problem.axes[axis].extent;
    const int64_t have = tile.extent[axis];
    const int64_t room = std::max<int64_t>(growth.most / (tile.elements / have), 1);
    const int64_t want = std::min(1 + divide_up(std::max<int64_t>(target - span, 0), step), room);
    if (want > have) {
        tile.extent[axis] = std::max(have, cut_evenly(growth.problem, extent, step, want, room));
        tile.elements = tile.elements / have * tile.extent[axis];
    }
    return span + (tile.extent[axis] - 1) * step;
}

void grow_side(const Growth &growth, Side side, const int32_t *order, int32_t count, int64_t target) {
    int64_t span = growth.problem.item;
    for (int32_t i = 0; i < count && span < target; ++i) {
        const int64_t step = step_of(growth.problem.axes[order[i]], side);
        if (!continues_run(growth.problem, span, step)) {
            return;
        }
        span = grow_axis(growth, order[i], step, span, target);
        if (growth.tile->extent[order[i]] < growth.problem.axes[order[i]].extent) {
            return;
        }
    }
}

// Measures the runs of a side in the grown tile.
void measure_runs(const TileProblem &problem, Side side, const int32_t *order, int32_t count, const Tile &tile,
                  TileRuns *out_runs) {
    out_runs->ndim = 0;
    out_runs->span = problem.item;
    out_runs->count = 1;
    bool adjacent = true;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t axis = order[i];
        const int64_t extent = tile.extent[axis];
        const int64_t step = step_of(problem.axes[axis], side);
        adjacent = adjacent && extent > 1 && continues_run(problem, out_runs->span, step);
        if (adjacent) {
            out_runs->axes[out_runs->ndim++] = axis;
            out_runs->span += (extent - 1) * step;
            adjacent = extent == problem.axes[axis].extent;
        } else {
            out_runs->count *= extent;
        }
    }
}

// Adds the axes that are in no run, small steps in dst first.
void widen_tile(const TileProblem &problem, const TileTarget &target, Tile *tile) {
    for (int32_t i = 0; i < problem.ndim; ++i) {
        const int64_t extent = problem.axes[i].extent;
        const int64_t bytes = tile->src.count * (tile->src.span + problem.item);
        const int64_t room = std::min(target.most / tile->elements, target.most_bytes / bytes);
        if (tile->extent[i] == 1 && room > 1) {
            tile->extent[i] = room >= extent ? extent : divide_up(extent, divide_up(extent, room));
            tile->elements *= tile->extent[i];
            tile->dst.count *= tile->extent[i];
            tile->src.count *= problem.axes[i].src_step == 0 ? 1 : tile->extent[i];
        }
    }
}

}  // namespace

bool goes_in_one_order(const Axis *axes, int32_t ndim) {
    int64_t step = 1;
    for (int32_t i = 0; i < ndim; ++i) {
        if (std::abs(axes[i].src_step) < step) {
            return false;
        }
        step = std::abs(axes[i].src_step);
    }
    return true;
}

void grow_tile(const TileProblem &problem, const TileTarget &target, Tile *out_tile) {
    int32_t of_dst[VIA_MAX_NDIM] = {};
    int32_t of_src[VIA_MAX_NDIM] = {};
    const int32_t dst_count = sort_axes(problem, Side::Dst, of_dst);
    const int32_t src_count = sort_axes(problem, Side::Src, of_src);
    std::fill_n(out_tile->extent, problem.ndim, int64_t{1});
    out_tile->elements = 1;
    const Growth growth{problem, target.most, out_tile};
    grow_side(growth, Side::Dst, of_dst, dst_count, target.dst_span);
    grow_side(growth, Side::Src, of_src, src_count, target.src_span);
    if (target.fill == TileFill::LongerRuns) {
        grow_side(growth, Side::Src, of_src, src_count, 2 * target.src_span);
        grow_side(growth, Side::Dst, of_dst, dst_count, 2 * target.dst_span);
    }
    measure_runs(problem, Side::Dst, of_dst, dst_count, *out_tile, &out_tile->dst);
    measure_runs(problem, Side::Src, of_src, src_count, *out_tile, &out_tile->src);
    if (target.fill != TileFill::None) {
        widen_tile(problem, target, out_tile);
    }
}

double count_sectors(const TileProblem &problem, const TileRuns &runs, int64_t alignment) {
    const auto sector = static_cast<double>(problem.sector);
    const auto past = static_cast<double>(problem.sector - std::min(alignment, problem.sector));
    return static_cast<double>(runs.count) * (static_cast<double>(runs.span) + past) / sector;
}

int64_t count_tiles(const TileProblem &problem, const Tile &tile) {
    int64_t count = 1;
    for (int32_t i = 0; i < problem.ndim; ++i) {
        count *= divide_up(problem.axes[i].extent, tile.extent[i]);
    }
    return count;
}

}  // namespace via
