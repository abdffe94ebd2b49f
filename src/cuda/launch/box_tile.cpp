#include "cuda/launch/box_tile.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace via::cuda {
namespace {

using kernels::BoxParams;
using kernels::make_divisor;
using List = BoxParams::List;
using AnyBox = kernels::Box<4>;

constexpr int64_t kWhole = 16;  // bytes that are loaded at once

bool has(uint64_t axes, int32_t axis) { return (axes >> axis & 1) != 0; }

bool is_cut(const BoxTile &box, int32_t axis) { return box.tile.extent[axis] < box.shape->axes[axis].extent; }

// Orders the axes of the tile, and numbers those that are cut. Returns false if there are more than two, or if the
// kernel cannot index one.
bool order_axes(BoxTile *box) {
    int32_t count = 0;
    box->cuts[0] = box->cuts[1] = -1;
    for (int32_t i = 0; i < box->shape->ndim; ++i) {
        if (box->tile.extent[i] == 1) {
            continue;
        }
        if (!is_cut(*box, i)) {
            box->axes[box->ndim++] = i;
        } else if (count == 2 || !fits_index(box->shape->axes[i].extent)) {
            return false;
        } else {
            box->cuts[count++] = i;
        }
    }
    std::copy_n(box->cuts, count, box->axes + box->ndim);
    box->ndim += count;
    return true;
}

bool is_in_cuts(const BoxTile &box, int32_t axis) { return axis == box.cuts[0] || axis == box.cuts[1]; }

// Lists axes. Returns false if two of them are cut, if there are too many, or if an offset does not fit 32 bits.
bool make_list(const BoxTile &box, uint64_t axes, int64_t Axis::*step, List *list) {
    *list = {};
    list->count = 1;
    int64_t reach = 0;
    for (const int32_t axis : box.in_order()) {
        if (!has(axes, axis)) {
            continue;
        }
        if (list->unit != 0 || list->ndim == BoxParams::kListAxes) {
            return false;
        }
        if (is_in_cuts(box, axis)) {
            list->unit = list->count;
            list->cut = axis == box.cuts[1] ? 1 : 0;
        }
        const int64_t extent = box.tile.extent[axis];
        const int64_t elements = box.shape->axes[axis].*step / box.shape->element;
        list->axes[list->ndim++] = {make_divisor<uint32_t>(extent), static_cast<int32_t>(elements),
                                    static_cast<int32_t>(box.places[axis])};
        list->count *= static_cast<uint32_t>(extent);
        reach += extent * std::abs(elements);
    }
    return reach <= INT32_MAX;
}

// Finds the axes of dst's runs as far as the table of columns goes. The others are rows.
void find_columns(BoxTile *box) {
    int64_t count = 1;
    for (int32_t i = 0; i < box->tile.dst.ndim; ++i) {
        const int32_t axis = box->tile.dst.axes[i];
        count *= box->tile.extent[axis];
        if (count > AnyBox::kMostColumns) {
            return;
        }
        box->of_columns |= uint64_t{1} << axis;
    }
}

bool is_dense(const List &columns) {
    int64_t step = 1;
    for (int32_t i = 0; i < columns.ndim; ++i) {
        if (columns.axes[i].step != step) {
            return false;
        }
        step *= columns.axes[i].extent.divisor;
    }
    return true;
}

bool make_lists(BoxTile *box) {
    BoxParams &params = box->params;
    if (!make_list(*box, box->of_src_rows, &Axis::src_step, &params.src_rows) ||
        !make_list(*box, box->of_columns, &Axis::dst_step, &params.columns) ||
        !make_list(*box, ~box->of_columns, &Axis::dst_step, &params.dst_rows)) {
        return false;
    }
    params.dense = is_dense(params.columns);
    return params.columns.count <= (params.dense ? AnyBox::kMostColumns : AnyBox::kMostColumns / 2) &&
           params.dst_rows.count <= AnyBox::kMostRows && params.src_rows.count <= AnyBox::kMostRows;
}

// Returns the indices from one tile's beginning to the next one's.
int64_t unit_of(const BoxTile &box, int32_t axis) {
    return box.tile.extent[axis] - (axis == box.owned_axis ? box.more : 0);
}

// Returns the alignment of runs, in all tiles.
int64_t alignment_of(const BoxTile &box, uint64_t run_axes, uint64_t base, int64_t Axis::*step) {
    uint64_t all = base | kSectorBytes;
    for (int32_t i = 0; i < box.shape->ndim; ++i) {
        const int64_t by = box.shape->axes[i].*step;
        const int64_t along = is_cut(box, i) ? unit_of(box, i) : 0;
        all |= static_cast<uint64_t>(by * (has(run_axes, i) && by > 0 ? along : 1));
    }
    return alignment_in(all);
}

void align_runs(BoxTile *box) {
    box->src_alignment = alignment_of(*box, box->of_src_runs, box->shape->src, &Axis::src_step);
    box->dst_alignment = alignment_of(*box, box->of_columns, box->shape->dst, &Axis::dst_step);
}

void sort_axes(BoxTile *box) {
    for (int32_t i = 0; i < box->tile.src.ndim; ++i) {
        box->of_src_runs |= uint64_t{1} << box->tile.src.axes[i];
    }
    for (int32_t i = 0; i < box->shape->ndim; ++i) {
        const bool repeated = box->shape->axes[i].src_step == 0;
        box->of_src_rows |= has(box->of_src_runs, i) || repeated ? 0 : uint64_t{1} << i;
        box->places[i] = has(box->of_src_runs, i) ? box->shape->axes[i].src_step : 0;
    }
    find_columns(box);
    align_runs(box);
}

// Makes a tile shorter along an axis that runs of dst are cut along.
void shorten(BoxTile *box, int32_t axis, int64_t extent) {
    Tile &tile = box->tile;
    const int64_t less = tile.extent[axis] - extent;
    tile.elements = tile.elements / tile.extent[axis] * extent;
    tile.dst.span -= less * box->shape->axes[axis].dst_step;
    const bool in_run = std::find(tile.src.axes, tile.src.axes + tile.src.ndim, axis) != tile.src.axes + tile.src.ndim;
    if (in_run) {
        tile.src.span -= less * std::abs(box->shape->axes[axis].src_step);
    } else if (box->shape->axes[axis].src_step != 0) {
        tile.src.count = tile.src.count / tile.extent[axis] * extent;
    }
    tile.extent[axis] = extent;
}

// Lets tiles end at sectors if runs of dst are cut, and begin anywhere.
void own_sectors(BoxTile *box) {
    const TileRuns &runs = box->tile.dst;
    const int64_t element = box->shape->element;
    int64_t columns = 1;  // of each index of the last axis
    for (int32_t i = 0; i < runs.ndim; ++i) {
        if (box->shape->axes[runs.axes[i]].dst_step != columns * element) {
            return;
        }
        columns *= i + 1 < runs.ndim ? box->tile.extent[runs.axes[i]] : 1;
    }
    const int32_t axis = runs.ndim > 0 ? runs.axes[runs.ndim - 1] : -1;
    if (axis < 0 || !is_cut(*box, axis) || !has(box->of_columns, axis)) {
        return;
    }
    const int64_t sector = kSectorBytes / element;
    const int64_t more = divide_up(sector - 1, columns);
    const int64_t room = box->tile.extent[axis] - more;
    const int64_t whole = sector / std::gcd(sector, columns);
    const int64_t full = 4 * sector / std::gcd(4 * sector, columns);  // of a warp's stores
    const int64_t unit = room >= full ? room / full * full : room / whole * whole;
    if (unit >= more && unit > 0) {
        shorten(box, axis, unit + more);
        box->owned_axis = axis;
        box->more = more;
        box->params.owned = static_cast<uint32_t>(unit * columns);
    }
}

void measure_cuts(BoxTile *box) {
    BoxParams &params = box->params;
    params.span = static_cast<uint32_t>(box->shape->element);
    params.backward = 0;
    for (int32_t i = 0; i < box->shape->ndim; ++i) {
        if (has(box->of_src_runs, i) && !is_in_cuts(*box, i)) {
            const int64_t step = box->shape->axes[i].src_step;
            const auto reach = static_cast<uint32_t>((box->tile.extent[i] - 1) * std::abs(step));
            params.span += reach;
            params.backward += step < 0 ? reach : 0;
        }
    }
    for (int32_t i = 0; i < 2; ++i) {
        params.cuts[i] = {1, 1, 0, 0, 0};
        if (box->cuts[i] < 0) {
            continue;
        }
        const Axis &axis = box->shape->axes[box->cuts[i]];
        const int64_t tile = box->tile.extent[box->cuts[i]];
        const auto along =
            has(box->of_src_runs, box->cuts[i]) ? static_cast<uint32_t>(std::abs(axis.src_step)) : uint32_t{0};
        params.cuts[i] = {static_cast<uint32_t>(axis.extent), static_cast<uint32_t>(tile), axis.src_step, along,
                          axis.src_step < 0 ? along : 0};
    }
}

// A loop over the tiles along an axis.
struct Loop {
    int64_t count;
    int64_t unit;  // indices of the axis, in a tile
    int32_t cut;   // number of that axis among the cuts, or 2
    int64_t dst_step;
    int64_t src_step;
};

int64_t count_along(const BoxTile &box, int32_t axis) {
    const int64_t unit = unit_of(box, axis);
    return divide_up(box.shape->axes[axis].extent - (box.tile.extent[axis] - unit), unit);
}

// Counts the tiles, and makes digits of the loops over them. Tiles that are neighbours in dst follow one another, and
// share the sectors at the ends of their runs while these are in the cache.
bool number_tiles(BoxTile *box) {
    Loop loops[VIA_MAX_NDIM + 1];
    int32_t count = 0;
    for (int32_t i = 0; i < box->shape->ndim; ++i) {
        const Axis &axis = box->shape->axes[i];
        if (is_cut(*box, i)) {
            const int64_t unit = unit_of(*box, i);
            const int32_t cut = i == box->cuts[0] ? 0 : i == box->cuts[1] ? 1 : 2;
            loops[count++] = {count_along(*box, i), unit, cut, axis.dst_step * unit, axis.src_step * unit};
        }
    }
    if (count > BoxParams::kDigits) {
        return false;
    }
    std::sort(loops, loops + count, [](const Loop &a, const Loop &b) { return a.dst_step < b.dst_step; });
    int64_t tiles = 1;
    for (int32_t i = 0; i < count; ++i) {
        const Loop &loop = loops[i];
        if (!fits_index(loop.count) || loop.count > INT32_MAX / tiles) {
            return false;
        }
        tiles *= loop.count;
        box->params.digits[i] = {make_divisor<uint32_t>(loop.count), static_cast<uint32_t>(loop.unit), loop.cut,
                                 loop.dst_step, loop.src_step};
    }
    box->params.digit_count = count;
    box->params.tiles = static_cast<uint32_t>(tiles);
    return true;
}

// ------------------------------------------------------------------------------------------------ places

// The indices of the first elements that the lanes of a warp read, along the axes of the tile.
struct Lanes {
    static constexpr int32_t kMostAxes = 2 * BoxParams::kListAxes;
    int32_t count;
    int32_t ndim;
    int32_t axes[kMostAxes];
    int32_t indices[32][kMostAxes];
};

// Appends the axes of a list, in its order.
void append_axes(const BoxTile &box, uint64_t of_list, Lanes *lanes) {
    for (const int32_t axis : box.in_order()) {
        if (has(of_list, axis)) {
            lanes->axes[lanes->ndim++] = axis;
        }
    }
}

void locate_lane(const BoxTile &box, int32_t begin, int32_t end, uint32_t index, Lanes *lanes) {
    for (int32_t k = begin; k < end; ++k) {
        const auto extent = static_cast<uint32_t>(box.tile.extent[lanes->axes[k]]);
        lanes->indices[lanes->count][k] = static_cast<int32_t>(index % extent);
        index /= extent;
    }
}

void locate_lanes(const BoxTile &box, Lanes *lanes) {
    const BoxParams &params = box.params;
    const auto per_word = static_cast<uint32_t>(params.dense ? box.word / box.shape->element : 1);
    const uint32_t threads = params.storing.threads.divisor;
    lanes->count = lanes->ndim = 0;
    append_axes(box, box.of_columns, lanes);
    const int32_t columns = lanes->ndim;
    append_axes(box, ~box.of_columns, lanes);
    for (; lanes->count < 128 / box.word; ++lanes->count) {
        const auto word = static_cast<uint32_t>(lanes->count);
        const uint32_t row = word / threads;
        const uint32_t column = word % threads * per_word;
        if (row >= params.dst_rows.count || column >= params.columns.count) {
            return;
        }
        locate_lane(box, 0, columns, column, lanes);
        locate_lane(box, columns, lanes->ndim, row, lanes);
    }
}

// Returns the most different words of one bank that the lanes ask for.
int32_t count_conflicts(const BoxTile &box, const Lanes &lanes) {
    const int32_t shift = std::countr_zero(static_cast<uint64_t>(box.word));
    const int64_t banks = 128 >> shift;
    int64_t asked[32][32];
    int32_t counts[32] = {};
    int32_t most = 0;
    for (int32_t i = 0; i < lanes.count; ++i) {
        int64_t place = 0;
        for (int32_t k = 0; k < lanes.ndim; ++k) {
            place += lanes.indices[i][k] * box.places[lanes.axes[k]];
        }
        const int64_t at = place >> shift;
        const int64_t bank = at & (banks - 1);
        if (std::find(asked[bank], asked[bank] + counts[bank], at) == asked[bank] + counts[bank]) {
            asked[bank][counts[bank]++] = at;
            most = std::max(most, counts[bank]);
        }
    }
    return most;
}

// Places the runs of src in shared memory, congruent to their addresses modulo sixteen, the first axis `more` sixteens
// farther apart than needed. No sixteen has bytes of two runs. Returns the bytes of all.
int64_t place_runs(BoxTile *box, int64_t more) {
    const int64_t room = box->tile.src.span + kWhole - std::min(box->src_alignment, kWhole);
    int64_t reach = 0;
    for (const int32_t axis : box->in_order()) {
        if (has(box->of_src_rows, axis)) {
            const int64_t least = reach + room;
            const int64_t past = (box->shape->axes[axis].src_step - least) & (kWhole - 1);
            box->places[axis] = least + past + more * kWhole;
            reach += (box->tile.extent[axis] - 1) * box->places[axis];
            more = 0;
        }
    }
    return divide_up(reach + room, kWhole) * kWhole + kWhole;
}

// Chooses the distances of runs of src, so that lanes which read across them use many banks.
void choose_places(BoxTile *box) {
    constexpr int32_t kTried = 8;
    Lanes lanes;
    locate_lanes(*box, &lanes);
    int64_t best = 0;
    box->conflicts = INT32_MAX;
    for (int64_t more = 0; more < kTried && box->conflicts > 1 && place_runs(box, more) <= AnyBox::kBytes; ++more) {
        const int32_t conflicts = count_conflicts(*box, lanes);
        if (conflicts < box->conflicts) {
            box->conflicts = conflicts;
            best = more;
        }
    }
    place_runs(box, best);
}

// ------------------------------------------------------------------------------------------------ threads

// Gives each run `threads` of the block's, whole ones only.
BoxParams::Share share(int64_t words, int64_t threads) {
    return {static_cast<uint32_t>(words), static_cast<uint32_t>(AnyBox::kThreads / threads),
            make_divisor<uint32_t>(threads)};
}

// A warp loads one run of many sixteens, or several of few; all warps share the runs if these are few.
void share_loads(BoxTile *box) {
    constexpr int64_t kWarp = 32;
    const int64_t words = divide_up(box->tile.src.span + kWhole - std::min(box->src_alignment, kWhole), kWhole);
    const int64_t runs = box->params.src_rows.count;
    const int64_t most = std::max(kWarp, AnyBox::kThreads / runs / kWarp * kWarp);
    box->params.loading = share(words, divide_up(words, divide_up(words, most)));
    box->load_turns = static_cast<double>(divide_up(words, box->params.loading.threads.divisor) *
                                          divide_up(runs, box->params.loading.rows));
}

// Returns the words of `columns` that may begin anywhere behind a sector's beginning.
int64_t words_of(const BoxTile &box, int64_t columns) {
    if (!box.params.dense) {
        return columns;
    }
    const int64_t past = kSectorBytes - std::min(box.dst_alignment, kSectorBytes);
    return divide_up(columns * box.shape->element + past, kSectorBytes) * kSectorBytes / box.word;
}

// Returns how often each of a run's threads stores, on average over the tiles that the run is cut into.
double count_rounds(const BoxTile &box, int64_t threads) {
    const BoxParams &params = box.params;
    const int64_t first = divide_up(words_of(box, params.columns.count), threads);
    if (params.owned == 0) {
        return static_cast<double>(first);
    }
    const int64_t tiles = count_along(box, box.owned_axis);
    const int64_t left = box.shape->axes[box.owned_axis].extent - (tiles - 1) * unit_of(box, box.owned_axis) - box.more;
    const int64_t last = divide_up(words_of(box, left * params.columns.unit), threads);
    const int64_t middle = divide_up(params.owned * box.shape->element / box.word, threads);
    return static_cast<double>(first + last + (tiles - 2) * middle) / static_cast<double>(tiles);
}

// Returns after how many rows of dst one begins as far behind a sector as the first, if others go on so too. Returns 0
// if not.
int64_t period_of_rows(const BoxTile &box) {
    const List &rows = box.params.dst_rows;
    const auto period = [&](int32_t axis) {
        return kSectorBytes / std::gcd(kSectorBytes, int64_t{rows.axes[axis].step} * box.shape->element);
    };
    for (int32_t i = 1; i < rows.ndim; ++i) {
        if (period(i) != 1) {
            return 0;
        }
    }
    const int64_t first = rows.ndim > 0 ? period(0) : 1;
    return rows.ndim > 1 && rows.axes[0].extent.divisor % first != 0 ? 0 : first;
}

// Lets a run of dst have so many threads. Fewer runs are stored at once if a thread's runs then begin equally.
void share_stores(BoxTile *box, int64_t threads, int64_t period) {
    BoxParams &params = box->params;
    params.storing = share(words_of(*box, params.columns.count), threads);
    const int64_t level_rows = period > 0 ? params.storing.rows / period * period : 0;
    params.level = level_rows * 4 >= params.storing.rows * 3;
    params.storing.rows = params.level ? static_cast<uint32_t>(level_rows) : params.storing.rows;
    box->store_turns =
        count_rounds(*box, threads) * static_cast<double>(divide_up(params.dst_rows.count, params.storing.rows));
}

// A number of threads for each run, and the cycles that storing a tile then takes where there are no conflicts.
struct Sharing {
    int64_t threads;
    double cycles;
};

// Returns the threads that store a sector of a run, or 128 bytes of a longer one across a link: a link carries what a
// warp stores of one run in one request, and many small requests slowly.
int64_t least_threads(const BoxTile &box) {
    constexpr int64_t kRequest = 128;
    const int64_t words = words_of(box, box.params.columns.count);
    const bool is_long = box.shape->far_side == FarSide::Dst && words * box.word >= kRequest;
    return box.params.dense ? (is_long ? kRequest : kSectorBytes) / box.word : 1;
}

// Lists the least number of threads, twice as many, and so on, the quickest first. Returns their count.
int32_t list_sharings(BoxTile *box, int64_t period, Sharing *out) {
    const int64_t least = least_threads(*box);
    int32_t count = 0;
    box->conflicts = 1;
    for (int64_t threads = least; threads <= AnyBox::kThreads; threads *= 2) {
        share_stores(box, threads, period);
        out[count++] = {threads, box->store_turns * box_store_cycles(*box)};
    }
    std::stable_sort(out, out + count, [](const Sharing &a, const Sharing &b) { return a.cycles < b.cycles; });
    return count;
}

constexpr int32_t kMostSharings = 9;  // powers of two, of the threads of a block

// Shares stores as if there were no conflicts.
void estimate_stores(BoxTile *box) {
    Sharing sharings[kMostSharings];
    const int64_t period = period_of_rows(*box);
    list_sharings(box, period, sharings);
    share_stores(box, sharings[0].threads, period);
}

// Shares stores where they are the quickest with the conflicts that remain.
void choose_stores(BoxTile *box) {
    Sharing sharings[kMostSharings];
    const int64_t period = period_of_rows(*box);
    const int32_t count = list_sharings(box, period, sharings);
    double fewest = INFINITY;
    int64_t best = 0;
    for (int32_t i = 0; i < count && sharings[i].cycles < fewest; ++i) {
        share_stores(box, sharings[i].threads, period);
        choose_places(box);
        const double cycles = box->store_turns * box_store_cycles(*box);
        if (cycles < fewest) {
            fewest = cycles;
            best = sharings[i].threads;
        }
    }
    share_stores(box, best, period);
    choose_places(box);
}

void bound_rows(BoxTile *box) {
    BoxParams &params = box->params;
    params.rows_low = params.rows_high = 0;
    const int32_t whole = params.src_rows.ndim - (params.src_rows.unit != 0 ? 1 : 0);
    for (int32_t i = 0; i < whole; ++i) {
        const BoxParams::ListAxis &axis = params.src_rows.axes[i];
        const int64_t reach = int64_t{axis.extent.divisor - 1} * axis.step * box->shape->element;
        (reach < 0 ? params.rows_low : params.rows_high) += reach;
    }
}

// Returns whether steps within a run fit 16 bits.
bool fits_runs(const Tile &tile) { return tile.dst.span <= UINT16_MAX && tile.src.span <= UINT16_MAX; }

}  // namespace

// Counted in the machine code: instructions, of which a multiprocessor issues four in a cycle, and accesses to shared
// memory and lines of dst, of which it does one.
double box_store_cycles(const BoxTile &box) {
    const BoxParams &params = box.params;
    const double pack = params.dense ? static_cast<double>(box.word) / box.shape->element : 1;
    const double lines = std::max(1.0, 32.0 / params.storing.threads.divisor);
    const double wide = static_cast<double>(box.word) / 4;
    const double issued = params.level || !params.dense ? 7 + 3 * pack : 18 + 5 * pack;
    const double accessed = pack * box.conflicts * wide + 1 + (params.level ? 0 : pack) + std::max(lines, wide);
    return std::max(issued / 4, accessed);
}

bool make_box_tile(const Shape &shape, const Tile &tile, BoxTile *out) {
    *out = {};
    out->shape = &shape;
    out->tile = tile;
    out->word = std::max<int64_t>(shape.element, 4);
    out->owned_axis = -1;
    if (!fits_runs(tile) || !order_axes(out)) {
        return false;
    }
    sort_axes(out);
    if (out->dst_alignment < kSectorBytes) {
        own_sectors(out);
        align_runs(out);
    }
    out->params.owned_cut = out->owned_axis == out->cuts[0] ? 0 : 1;
    if (place_runs(out, 0) > AnyBox::kBytes || !make_lists(out) || !number_tiles(out)) {
        return false;
    }
    measure_cuts(out);
    bound_rows(out);
    share_loads(out);
    estimate_stores(out);
    out->params.dst = shape.dst;
    out->params.src = shape.src;
    out->params.extent = shape.extent;
    return true;
}

void spread_box_tile(BoxTile *box) {
    choose_stores(box);
    (void)make_lists(box);  // again, for they hold the places
}

}  // namespace via::cuda
