#include "copy/choose_tiles.hpp"

#include <algorithm>
#include <cstdlib>

#include "copy/host/host_kernels.hpp"
#include "copy/host/tile_passes.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/base/rounding.hpp"
#include "core/layout/tiles.hpp"
#include "core/system/thread_count.hpp"

namespace via {
namespace {

// Up to here nothing is cut: the second-level cache holds what is read and what is written.
constexpr int64_t kOneTile = int64_t{128} << 10;

// What each thread of a copy has at least: run_plan decides whether they share it.
constexpr int64_t kPlainPerThread = int64_t{128} << 10;
constexpr int64_t kStridedPerThread = int64_t{64} << 10;

// From here on a permute of short sides gains from a scratch: the second-level cache does not hold it.
constexpr int64_t kLargeBytes = int64_t{2} << 20;

constexpr int64_t kRunBlock = int64_t{1} << 20;

// Bytes of a tile at least, so that the work done once for each tile is little in comparison.
constexpr int64_t kLeastTile = int64_t{32} << 10;
constexpr int64_t kLeastTileOfElements = int64_t{4} << 10;  // each may be a line of the first-level cache

// Tiles with shorter runs of src are not tried where scratches do not hold them.
constexpr int64_t kShortestSpan = 128;

// Fewer elements of src are not worth shuffling together.
constexpr int64_t kLeastSqueezed = 64;

constexpr int64_t kTilesPerThread = 4;
constexpr int64_t kPage = 4096;

// The least bytes there are of a way of the first two levels of caches.
constexpr int64_t kFirstLevelWay = 4096;
constexpr int64_t kSecondLevelWay = int64_t{64} << 10;

// Rows in a scratch that are shorter are not worth it.
constexpr int64_t kLeastRow = 512;

// Copies stream from these parts of the last-level cache on. A plain one has as many bytes on either side, and not all
// of the cache; of a strided one, more of it is taken by what it comes back to.
constexpr double kPlainPart = 0.4;
constexpr double kStridedPart = 0.33;

// What a tile is cut to: how long its runs should be on both sides, and its size. Measured; see docs/performance.
struct TileShape {
    int64_t dst_span;
    int64_t src_span;
    int64_t nbytes;
    int64_t least = kLeastTile;
};
constexpr TileShape kDirect{1024, 2048, int64_t{512} << 10};
// Both the scratch and the source are in the first-level cache.
constexpr TileShape kByRows{1024, 128, int64_t{64} << 10};
// The same where what is adjacent in both is lines: src may be read further along.
constexpr TileShape kByRowsOfLines{1024, 512, int64_t{64} << 10};
// Gaps leave less of each line of src.
constexpr TileShape kSqueezedByRows{1024, 1024, int64_t{64} << 10};
constexpr TileShape kSqueezed{512, 1024, int64_t{64} << 10};
// The lines of both sides are in the first-level cache.
constexpr TileShape kElements{256, 512, int64_t{64} << 10, kLeastTileOfElements};
constexpr TileShape kLongElements{512, 512, int64_t{64} << 10, kLeastTileOfElements};
constexpr TileShape kLongRuns{4096, 4096, int64_t{256} << 10};
// Both sides are fast along the same axis.
constexpr TileShape kOneOrder{int64_t{16} << 10, 1024, int64_t{256} << 10};

// Bytes of dst that are adjacent whatever src does, counted as far as it matters.
int64_t adjacent_bytes(const Plan &plan) {
    int64_t nbytes = plan.run;
    for (int32_t i = 0; i < plan.ndim && nbytes < kLeastRow && plan.axes[i].dst_step == nbytes; ++i) {
        nbytes *= plan.axes[i].extent;
    }
    return nbytes;
}

// Whether the lines of dst that elements adjacent in src go to, one each, crowd into so few sets of a cache of 8 ways
// that it throws lines out half written. Steps of powers of two do that.
bool lines_crowd(int64_t run, int64_t dst_step, int64_t way_bytes) {
    return kLineBytes / run * std::min(alignment_in(static_cast<uint64_t>(dst_step)), way_bytes) > 8 * way_bytes;
}

// What decides how tiles are walked.
struct Sides {
    bool transposes;  // runs are shorter than a line, and fast along different axes
    bool fills_rows;  // dst takes rows
    int32_t source;
};

Sides sides_of(const Plan &plan) {
    const int32_t source = find_source_axis(plan.axes, plan.ndim);
    return {plan.run < kRowBytes && source > 0, adjacent_bytes(plan) >= kLeastRow, source};
}

// Whether registers transpose elements, gaps of src left aside.
bool is_simd_transpose(const Plan &plan, const Sides &sides) {
    return is_simd_element(plan.run) && plan.axes[0].dst_step == plan.run &&
           std::abs(plan.axes[sides.source].src_step) == plan.run;
}

// Whether a few planes become the channels of pixels, or the other way. What registers do is the bottleneck then, and
// the processor reads so few runs ahead by itself.
bool moves_channels(const Plan &plan, const Sides &sides) {
    if (!sides.transposes) {
        return false;
    }
    const Axis &inner = plan.axes[0];
    const Axis &outer = plan.axes[sides.source];
    const bool joins = sides.source == 1 && inner.extent * plan.run < kLaneBytes;
    const bool splits = inner.src_step == outer.extent * plan.run && inner.src_step < kLaneBytes;
    return joins || splits;
}

// Whether registers transpose vectors into whole lines of dst, which then are not put together in a scratch. The
// second-level cache has to hold them at the same time: the processor brings them there to write them.
bool writes_lines(const Plan &plan, const Sides &sides) {
    constexpr int64_t kLeastRowBytes = 8 * kLineBytes;
    constexpr int64_t kLeastColumnBytes = 2 * kLineBytes;
    if (!sides.transposes || !is_simd_transpose(plan, sides) || simd_kernels().level < kLineLevel) {
        return false;
    }
    const Axis &outer = plan.axes[sides.source];
    return outer.dst_step % kLineConflict == 0 && !lines_crowd(plan.run, outer.dst_step, kSecondLevelWay) &&
           reinterpret_cast<uintptr_t>(plan.dst) % static_cast<uintptr_t>(plan.run) == 0 &&
           plan.axes[0].extent * plan.run >= kLeastRowBytes && outer.extent * plan.run >= kLeastColumnBytes;
}

bool wants_rows(const Plan &plan, const Sides &sides) {
    if (!sides.fills_rows || plan.run >= kLeastStreamedRun || (!plan.streaming && writes_lines(plan, sides))) {
        return false;
    }
    if (plan.streaming) {
        const bool in_one_order = plan.run < kRowBytes && goes_in_one_order(plan.axes, plan.ndim);
        return !moves_channels(plan, sides) && !in_one_order;
    }
    if (!sides.transposes || !is_simd_element(plan.run)) {
        return false;
    }
    return lines_crowd(plan.run, plan.axes[sides.source].dst_step, kFirstLevelWay) ||
           (plan.nbytes >= kLargeBytes && plan.axes[0].extent * plan.run < kLineBytes && sides.source > 1);
}

// Elements that are a few apart are shuffled together before they are transposed. Those of four bytes gain only where
// dst takes rows, and larger ones nowhere.
bool wants_squeeze(const Plan &plan, const Sides &sides) {
    const int64_t most = plan.by_rows ? 4 : 2;
    if (!sides.transposes || plan.run > most || !is_simd_element(plan.run) || plan.axes[0].dst_step != plan.run) {
        return false;
    }
    const int64_t step = plan.axes[sides.source].src_step;
    const bool even = step % plan.run == 0 && step / plan.run >= 2 && step / plan.run <= 4;
    return even && plan.axes[sides.source].extent >= kLeastSqueezed;
}

TileShape shape_of(const Plan &plan, const Sides &sides) {
    if (plan.by_rows && plan.squeezes) {
        return kSqueezedByRows;
    }
    if (plan.by_rows) {
        return plan.run < kRowBytes ? kByRows : kByRowsOfLines;
    }
    if (plan.run >= kLeastStreamedRun) {
        return kLongRuns;
    }
    if (sides.source <= 0) {
        return kOneOrder;
    }
    if (plan.squeezes) {
        return kSqueezed;
    }
    if (plan.run >= kRowBytes || is_simd_transpose(plan, sides)) {
        return kDirect;
    }
    return plan.run < 8 ? kElements : kLongElements;
}

int64_t nearest(const Axis &axis) { return std::min(axis.dst_step, std::abs(axis.src_step)); }

// Lets small tiles have more of the axes that move least.
void fill_up(const Plan &plan, int64_t least_bytes, Tile *tile) {
    const int64_t least = std::max<int64_t>(least_bytes / plan.run, 1);
    int64_t done = -1;
    while (tile->elements < least) {
        int32_t axis = -1;
        for (int32_t i = 0; i < plan.ndim; ++i) {
            const bool cut = tile->extent[i] < plan.axes[i].extent;
            axis = cut && (axis < 0 || nearest(plan.axes[i]) < nearest(plan.axes[axis])) ? i : axis;
        }
        if (axis < 0 || axis == done) {
            return;
        }
        const int64_t rest = tile->elements / tile->extent[axis];
        tile->extent[axis] = std::clamp<int64_t>(least / rest, tile->extent[axis], plan.axes[axis].extent);
        tile->elements = rest * tile->extent[axis];
        done = axis;
    }
}

// Cuts an axis into a number of about equal parts. Where one of the arrays is adjacent along it, a part is whole lines,
// and many lines are an odd number, so that equal places of successive tiles are in different sets of a cache.
int64_t part_of(const Plan &plan, const Axis &axis, int64_t parts) {
    constexpr int64_t kMany = 4;
    const int64_t part = (axis.extent - 1) / parts + 1;
    const int64_t line = kLineBytes / plan.run;
    if (nearest(axis) != plan.run || line <= 1) {
        return part;
    }
    const int64_t lines = (part - 1) / line + 1;
    return std::min((lines > kMany ? lines | 1 : lines) * line, axis.extent);
}

// A short rest costs nearly as much as a whole tile: makes tiles larger if the scratches still hold them.
void even_out(const Plan &plan, Tile *tile) {
    constexpr int64_t kMost = kScratchBytes / 2;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const int64_t parts = (plan.axes[i].extent - 1) / tile->extent[i];
        if (tile->extent[i] == 1 || parts == 0) {
            continue;
        }
        const int64_t rest = tile->elements / tile->extent[i];
        const int64_t part = part_of(plan, plan.axes[i], parts);
        if (rest * part * plan.run <= kMost) {
            tile->extent[i] = part;
            tile->elements = rest * part;
        }
    }
}

// Axes of the tile that are adjacent in dst, the last of which may be cut.
int32_t count_row_axes(const Plan &plan) {
    int64_t nbytes = plan.run;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        if (plan.axes[i].dst_step != nbytes) {
            return i;
        }
        if (plan.block[i] < plan.axes[i].extent) {
            return i + 1;
        }
        nbytes *= plan.axes[i].extent;
    }
    return plan.ndim;
}

// Several tiles for each thread, so that one that is held up does not hold up the copy: cuts the axis whose parts are
// longest on both sides.
void split_for_threads(const TileProblem &problem, int32_t threads, Tile *tile) {
    const int64_t parts = (threads * kTilesPerThread - 1) / count_tiles(problem, *tile) + 1;
    if (threads == 1 || parts == 1) {
        return;
    }
    // Whole registers of elements that are near each other.
    const auto part_of_axis = [&](int32_t axis) {
        const int64_t part = (tile->extent[axis] - 1) / parts + 1;
        const int64_t whole =
            nearest(problem.axes[axis]) < kLineBytes ? kLineBytes / std::min(problem.item, kLineBytes) : 1;
        return std::min(round_up(part, whole), tile->extent[axis]);
    };
    int32_t best = 0;
    for (int32_t i = 1; i < problem.ndim; ++i) {
        const int64_t span = part_of_axis(i) * nearest(problem.axes[i]);
        best = span > part_of_axis(best) * nearest(problem.axes[best]) ? i : best;
    }
    tile->elements /= tile->extent[best];
    tile->extent[best] = part_of_axis(best);
    tile->elements *= tile->extent[best];
}

// Returns how many times its share of an axis one thread has if each takes as many parts.
double load_of(int64_t extent, int64_t part, int32_t threads) {
    const int64_t rounds = ((extent - 1) / part + threads) / threads;
    return static_cast<double>(rounds * part * threads) / static_cast<double>(extent);
}

// Whether threads that share the tiles along an axis write far apart.
bool goes_far(const Plan &plan, const Tile &tile) {
    constexpr int64_t kApart = int64_t{16} << 10;
    for (int32_t i = 0; i < plan.ndim; ++i) {
        const Axis &axis = plan.axes[i];
        const int64_t tiles = (axis.extent - 1) / tile.extent[i] + 1;
        if (tiles >= plan.threads && axis.extent * axis.dst_step >= kApart * plan.threads) {
            return true;
        }
    }
    return false;
}

// Returns what to cut an axis to so that each thread has about `each` parts, more if a tile has less of it.
int64_t part_for_each(const Plan &plan, const Axis &axis, int64_t most, int64_t each) {
    const bool fills_lines = nearest(axis) == plan.run && is_simd_element(plan.run);
    const int64_t whole = fills_lines ? kLineBytes / plan.run : 1;
    const int64_t parts = round_up((axis.extent - 1) / most + 1, plan.threads * each);
    return std::min(round_up((axis.extent - 1) / parts + 1, whole), most);
}

// A way to cut an axis for the threads.
struct Cut {
    int32_t axis = -1;
    int64_t part = 0;
    double load = 1.2;  // more is not worth rows of a thread's own
};

// Finds the axis that is farthest out in dst of those that can be cut evenly into parts of `shortest` bytes of src.
Cut find_cut(const Plan &plan, const Tile &tile, int64_t shortest) {
    constexpr double kEven = 1.05;
    constexpr int64_t kFar = 4096;
    Cut best;
    for (int32_t i = plan.ndim - 1; i >= 0 && best.axis < 0; --i) {
        const Axis &axis = plan.axes[i];
        for (int64_t each = kTilesPerThread; each > 0 && best.load > kEven; each /= 2) {
            const int64_t part = part_for_each(plan, axis, tile.extent[i], each);
            const double load = load_of(axis.extent, part, plan.threads);
            if (load < best.load && part * std::abs(axis.src_step) >= shortest && part * axis.dst_step >= kFar) {
                best = {i, part, load};
            }
        }
    }
    return best;
}

// Cuts an axis so that each thread writes rows of its own. All threads read the lines where parts of src end.
void split_dst(const Plan &plan, Tile *tile) {
    constexpr int64_t kLong = 256;
    constexpr int64_t kShort = 128;
    Cut cut = find_cut(plan, *tile, kLong);
    if (cut.axis < 0) {
        cut = find_cut(plan, *tile, kShort);
    }
    if (cut.axis >= 0) {
        tile->elements = tile->elements / tile->extent[cut.axis] * cut.part;
        tile->extent[cut.axis] = cut.part;
    }
}

// Cuts all axes; returns whether scratches hold a tile.
bool cut_to(const TileShape &shape, int64_t src_span, Plan *plan) {
    Tile tile;
    const TileProblem problem{plan->axes, plan->ndim, plan->run, kLineBytes};
    grow_tile(problem, {shape.dst_span, src_span, std::max<int64_t>(shape.nbytes / plan->run, 1)}, &tile);
    fill_up(*plan, shape.least, &tile);
    if (plan->by_rows || plan->squeezes) {
        even_out(*plan, &tile);
    }
    split_for_threads(problem, plan->threads, &tile);
    if (plan->parts_dst && !plan->streaming && !goes_far(*plan, tile)) {
        split_dst(*plan, &tile);
    }
    std::copy_n(tile.extent, plan->ndim, plan->block);
    plan->row_ndim = plan->by_rows ? count_row_axes(*plan) : 0;
    return scratch_bytes_of(*plan) <= kScratchBytes;
}

void cut_axes(const Sides &sides, Plan *plan) {
    plan->by_rows = wants_rows(*plan, sides);
    plan->squeezes = wants_squeeze(*plan, sides);
    const TileShape shape = shape_of(*plan, sides);
    const bool fine = shape.nbytes < kOneTile && plan->run < kLaneBytes;
    if (plan->nbytes <= kOneTile && !plan->streaming && !plan->by_rows && !plan->squeezes && !fine) {
        return;
    }
    for (int64_t src_span = shape.src_span; !cut_to(shape, src_span, plan); src_span /= 2) {
        if (src_span <= kShortestSpan) {
            plan->by_rows = plan->squeezes = false;
            return;
        }
    }
}

void add_loop(const Axis &axis, int32_t of, Plan *plan) {
    int32_t at = plan->loop_ndim++;
    for (; at > 0 && plan->loops[at - 1].of >= 0 && nearest(plan->loops[at - 1].axis) > nearest(axis); --at) {
        plan->loops[at] = plan->loops[at - 1];
    }
    plan->loops[at] = {axis, of};
}

// Around the tiles, those loops first along which one of the arrays moves least: what is left of the cache lines that
// a tile has touched is used soon, on either side.
void add_loops(Plan *plan) {
    if (plan->run_block < plan->run) {
        add_loop({(plan->run - 1) / plan->run_block + 1, plan->run_block, plan->run_block}, TileLoop::kRun, plan);
    }
    for (int32_t i = 0; i < plan->ndim; ++i) {
        const Axis &axis = plan->axes[i];
        const int64_t block = plan->block[i];
        if (block < axis.extent) {
            add_loop({(axis.extent - 1) / block + 1, axis.dst_step * block, axis.src_step * block}, i, plan);
        }
    }
}

// Threads begin with parts of the outermost loop: lets it be the one along which dst moves most. They take whole steps
// of it where that gives each about as many.
void part_dst(Plan *plan) {
    constexpr double kEven = 1.1;
    if (plan->loop_ndim < 2 || !plan->parts_dst) {
        plan->parts_dst = false;
        return;
    }
    int32_t best = plan->loop_ndim - 1;
    for (int32_t i = 0; i < plan->loop_ndim; ++i) {
        const Axis &axis = plan->loops[i].axis;
        const bool divides = axis.extent >= plan->threads;
        best = divides && axis.dst_step > plan->loops[best].axis.dst_step ? i : best;
    }
    std::rotate(plan->loops + best, plan->loops + best + 1, plan->loops + plan->loop_ndim);
    plan->parts_dst = load_of(plan->loops[plan->loop_ndim - 1].axis.extent, 1, plan->threads) <= kEven;
}

// All of it as one tile.
void cover(Plan *plan) {
    plan->parts_dst = plan->streaming = plan->by_rows = plan->squeezes = false;
    plan->row_ndim = plan->loop_ndim = 0;
    plan->run_block = plan->run;
    for (int32_t i = 0; i < plan->ndim; ++i) {
        plan->block[i] = plan->axes[i].extent;
    }
}

bool can_stream(const Plan &plan) {
    return plan.by_rows ? row_bytes_of(plan) >= kLeastStreamedRow : plan.ndim == 0 || plan.run >= kLeastStreamedRun;
}

// Of a long run, in whole pages.
int64_t run_block_for(const Plan &plan) {
    const int64_t part = plan.nbytes / (plan.threads * kTilesPerThread);
    return plan.threads == 1 ? kRunBlock : std::clamp(part & -kPage, kLeastTile, kRunBlock);
}

}  // namespace

void choose_tiles(Plan *plan, int32_t threads, bool streaming) {
    cover(plan);
    plan->threads = threads;
    if (is_small(*plan) && !streaming) {
        return;
    }
    plan->streaming = streaming;
    plan->parts_dst = threads > 1 && plan->nbytes <= last_level_bytes() / 2;
    plan->run_block = std::min(plan->run, run_block_for(*plan));
    if (plan->ndim > 0 && plan->run > 0) {
        cut_axes(sides_of(*plan), plan);
    }
    plan->streaming = streaming && can_stream(*plan);
    add_loops(plan);
    part_dst(plan);
}

void choose_tiles(Plan *plan) {
    const bool strided = plan->ndim > 0;
    const double part = strided ? kStridedPart : kPlainPart;
    const auto streamed = static_cast<int64_t>(part * static_cast<double>(last_level_bytes()));
    const int64_t each = strided ? kStridedPerThread : kPlainPerThread;
    const int64_t threads = std::min<int64_t>(std::max<int64_t>(plan->nbytes / each, 1), num_threads());
    choose_tiles(plan, static_cast<int32_t>(threads), plan->nbytes >= streamed);
}

}  // namespace via
