#include "cuda/launch/kernel_plan_box.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace via::cuda {
namespace {

using kernels::BoxParams;
using kernels::Id;
using kernels::make_divisor;
using List = BoxParams::List;
using AnyBox = kernels::Box<4>;

constexpr int64_t kSectorBytes = 32;

constexpr int64_t kBlocks = 132 * AnyBox::kLeastBlocks;  // at once, on an H200

// Costs of a box, in microseconds of the whole GPU: fitted to copies of random layouts on an H200.
constexpr double kStart = 4;           // until the first block stores
constexpr double kSector = 5.3e-6;     // that is read or written
constexpr double kLoad = 0.79e-6;      // of a word
constexpr double kStore = 1.6e-6;      // of an element
constexpr double kGather = 2.8e-6;     // of a word that is put together of elements and begins with a run
constexpr double kGatherLoose = 4e-6;  // of one that does not
constexpr double kEntry = 7e-6;        // of the tables of a block
constexpr double kTurn = 1;            // for a block to wait for its loads, once for each tile

// A tile while its params are made.
struct Draft {
    const Shape &shape;
    const TileProblem &problem;
    const Tile &tile;
    BoxParams *params;
    int64_t word;         // that is stored at once
    uint64_t of_columns;  // axes by number, as bits
    uint64_t of_src_runs;
    uint64_t of_src_rows;
    int64_t places[VIA_MAX_NDIM + 1];  // bytes in shared memory that an index of each axis adds
    int64_t span;                      // bytes of a run of src in a whole tile
    int64_t src_alignment;
    int64_t dst_alignment;
};

bool has(uint64_t axes, int32_t axis) { return (axes >> axis & 1) != 0; }

bool is_cut(const Draft &draft, int32_t axis) { return draft.tile.extent[axis] < draft.shape.axes[axis].extent; }

// Numbers the axes that are cut, two at most.
bool number_cuts(const Draft &draft, int32_t *out_cuts) {
    int32_t count = 0;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        if (draft.tile.extent[i] == 1 || !is_cut(draft, i)) {
            continue;
        }
        if (count == 2) {
            return false;
        }
        out_cuts[count++] = i;
    }
    for (; count < 2; ++count) {
        out_cuts[count] = -1;
    }
    return true;
}

bool append(const Draft &draft, int32_t axis, int64_t Axis::*step, List *list) {
    if (list->ndim == BoxParams::kListAxes) {
        return false;
    }
    const int64_t extent = draft.tile.extent[axis];
    const int64_t elements = draft.shape.axes[axis].*step / draft.shape.element;
    list->axes[list->ndim++] = {make_divisor<uint32_t>(extent), static_cast<int32_t>(elements),
                                static_cast<int32_t>(draft.places[axis])};
    list->count *= static_cast<uint32_t>(extent);
    return true;
}

// Returns whether every offset fits 32 bits.
bool fits_offsets(const Draft &draft, uint64_t axes, int64_t Axis::*step) {
    int64_t reach = 0;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        const int64_t elements = std::abs(draft.shape.axes[i].*step) / draft.shape.element;
        reach += has(axes, i) && draft.tile.extent[i] > 1 ? draft.tile.extent[i] * elements : 0;
    }
    return reach <= INT32_MAX;
}

// Lists axes, the cut one last. Returns false if two are cut, or if there are too many.
bool make_list(const Draft &draft, uint64_t axes, const int32_t *cuts, int64_t Axis::*step, List *list) {
    *list = {};
    list->count = 1;
    int32_t last = -1;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        if (!has(axes, i) || draft.tile.extent[i] == 1) {
            continue;
        }
        if (i == cuts[0] || i == cuts[1]) {
            if (last >= 0) {
                return false;
            }
            last = i;
        } else if (!append(draft, i, step, list)) {
            return false;
        }
    }
    if (!fits_offsets(draft, axes, step)) {
        return false;
    }
    if (last < 0) {
        return true;
    }
    list->unit = list->count;
    list->cut = last == cuts[1] ? 1 : 0;
    return append(draft, last, step, list);
}

// Finds the axes of dst's runs as far as the table of columns goes. The others are rows.
void find_columns(Draft *draft) {
    int64_t count = 1;
    for (int32_t i = 0; i < draft->tile.dst.ndim; ++i) {
        const int32_t axis = draft->tile.dst.axes[i];
        count *= draft->tile.extent[axis];
        if (count > AnyBox::kMostColumns) {
            return;
        }
        draft->of_columns |= uint64_t{1} << axis;
    }
}

bool make_lists(const Draft &draft, const int32_t *cuts) {
    BoxParams &params = *draft.params;
    return make_list(draft, draft.of_src_rows, cuts, &Axis::src_step, &params.src_rows) &&
           make_list(draft, draft.of_columns, cuts, &Axis::dst_step, &params.columns) &&
           make_list(draft, ~draft.of_columns, cuts, &Axis::dst_step, &params.dst_rows) &&
           params.columns.count <= AnyBox::kMostColumns && params.dst_rows.count <= AnyBox::kMostRows &&
           params.src_rows.count <= AnyBox::kMostRows;
}

// Returns the alignment of runs, in all tiles.
int64_t alignment_of(const Draft &draft, uint64_t run_axes, uint64_t base, int64_t Axis::*step) {
    uint64_t all = base | kSectorBytes;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        const int64_t by = draft.shape.axes[i].*step;
        const int64_t along = is_cut(draft, i) ? draft.tile.extent[i] : 0;
        all |= static_cast<uint64_t>(by * (has(run_axes, i) && by > 0 ? along : 1));
    }
    return static_cast<int64_t>(all & (~all + 1));
}

void sort_axes(Draft *draft) {
    for (int32_t i = 0; i < draft->tile.src.ndim; ++i) {
        draft->of_src_runs |= uint64_t{1} << draft->tile.src.axes[i];
    }
    for (int32_t i = 0; i < draft->shape.ndim; ++i) {
        const bool repeated = draft->shape.axes[i].src_step == 0;
        draft->of_src_rows |= has(draft->of_src_runs, i) || repeated ? 0 : uint64_t{1} << i;
        draft->places[i] = has(draft->of_src_runs, i) ? draft->shape.axes[i].src_step : 0;
    }
    find_columns(draft);
    draft->src_alignment = alignment_of(*draft, draft->of_src_runs, draft->shape.src, &Axis::src_step);
    draft->dst_alignment = alignment_of(*draft, draft->of_columns, draft->shape.dst, &Axis::dst_step);
    draft->span = draft->tile.src.span;
}

void measure_cuts(const Draft &draft, const int32_t *cuts) {
    BoxParams &params = *draft.params;
    params.span = static_cast<uint32_t>(draft.shape.element);
    params.backward = 0;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        if (has(draft.of_src_runs, i) && i != cuts[0] && i != cuts[1]) {
            const int64_t step = draft.shape.axes[i].src_step;
            const auto reach = static_cast<uint32_t>((draft.tile.extent[i] - 1) * std::abs(step));
            params.span += reach;
            params.backward += step < 0 ? reach : 0;
        }
    }
    for (int32_t i = 0; i < 2; ++i) {
        params.cuts[i] = {1, 1, 0, 0, 0};
        if (cuts[i] < 0) {
            continue;
        }
        const Axis &axis = draft.shape.axes[cuts[i]];
        const int64_t tile = draft.tile.extent[cuts[i]];
        const auto along =
            has(draft.of_src_runs, cuts[i]) ? static_cast<uint32_t>(std::abs(axis.src_step)) : uint32_t{0};
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

// Counts the tiles, and makes digits of the loops over them. Tiles that are neighbours in dst follow one another, and
// share the sectors at the ends of their runs while these are in the cache.
bool number_tiles(const Draft &draft, const int32_t *cuts, int64_t *out_tiles) {
    Loop loops[VIA_MAX_NDIM + 1];
    int32_t count = 0;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        const Axis &axis = draft.shape.axes[i];
        const int64_t unit = draft.tile.extent[i];
        if (unit < axis.extent) {
            const int32_t cut = i == cuts[0] ? 0 : i == cuts[1] ? 1 : 2;
            loops[count++] = {divide_up(axis.extent, unit), unit, cut, axis.dst_step * unit, axis.src_step * unit};
        }
    }
    if (count > BoxParams::kDigits) {
        return false;
    }
    std::sort(loops, loops + count, [](const Loop &a, const Loop &b) { return a.dst_step < b.dst_step; });
    *out_tiles = 1;
    for (int32_t i = 0; i < count; ++i) {
        const Loop &loop = loops[i];
        if (!fits_index(loop.count) || loop.count > INT32_MAX / *out_tiles) {
            return false;
        }
        *out_tiles *= loop.count;
        draft.params->digits[i] = {make_divisor<uint32_t>(loop.count), static_cast<uint32_t>(loop.unit), loop.cut,
                                   loop.dst_step, loop.src_step};
    }
    draft.params->digit_count = count;
    return true;
}

// The places of the first elements that the lanes of a warp read.
struct Lanes {
    int64_t places[32];
    int32_t count;
};

int64_t place_of(const Draft &draft, uint64_t axes, const int32_t *cuts, uint32_t index) {
    int64_t place = 0;
    for (int32_t pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < draft.shape.ndim; ++i) {
            const auto extent = static_cast<uint32_t>(draft.tile.extent[i]);
            if (has(axes, i) && extent > 1 && (i == cuts[0] || i == cuts[1]) == (pass == 1)) {
                place += index % extent * draft.places[i];
                index /= extent;
            }
        }
    }
    return place;
}

Lanes locate_lanes(const Draft &draft, const int32_t *cuts) {
    const BoxParams &params = *draft.params;
    const auto per_word = static_cast<uint32_t>(params.dense ? draft.word / draft.shape.element : 1);
    Lanes lanes{};
    for (; lanes.count < 128 / draft.word; ++lanes.count) {
        const auto word = static_cast<uint32_t>(lanes.count);
        const uint32_t row = word / params.storing.threads.divisor;
        const uint32_t column = word % params.storing.threads.divisor * per_word;
        if (row >= params.dst_rows.count || column >= params.columns.count) {
            break;
        }
        lanes.places[lanes.count] =
            place_of(draft, draft.of_columns, cuts, column) + place_of(draft, ~draft.of_columns, cuts, row);
    }
    return lanes;
}

// Returns the most different words of one bank that the lanes ask for.
int32_t count_conflicts(const Lanes &lanes, int64_t word) {
    int64_t asked[32][32];
    int32_t counts[32] = {};
    int32_t most = 0;
    for (int32_t i = 0; i < lanes.count; ++i) {
        const int64_t at = (lanes.places[i] + (int64_t{1} << 32)) / word;
        const auto bank = static_cast<uint64_t>(at) % static_cast<uint64_t>(128 / word);
        if (std::find(asked[bank], asked[bank] + counts[bank], at) == asked[bank] + counts[bank]) {
            asked[bank][counts[bank]++] = at;
            most = std::max(most, counts[bank]);
        }
    }
    return most;
}

// Places the runs of src in shared memory, congruent to their addresses modulo sixteen, the first axis `more` sixteens
// farther apart than needed. No sixteen has bytes of two runs. Returns the bytes of all.
int64_t place_runs(Draft *draft, const int32_t *cuts, int64_t more) {
    constexpr int64_t kWhole = 16;
    const int64_t room = draft->span + kWhole - std::min(draft->src_alignment, kWhole);
    int64_t reach = 0;
    for (int32_t pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < draft->shape.ndim; ++i) {
            const int64_t extent = draft->tile.extent[i];
            if (has(draft->of_src_rows, i) && extent > 1 && (i == cuts[0] || i == cuts[1]) == (pass == 1)) {
                const int64_t least = reach + room;
                const int64_t past = (draft->shape.axes[i].src_step - least) & (kWhole - 1);
                draft->places[i] = least + past + more * kWhole;
                reach += (extent - 1) * draft->places[i];
                more = 0;
            }
        }
    }
    return divide_up(reach + room, kWhole) * kWhole + kWhole;
}

// Chooses the distances of runs of src, so that lanes which read across them use many banks.
bool choose_places(Draft *draft, const int32_t *cuts) {
    constexpr int32_t kTried = 8;
    int32_t fewest = INT32_MAX;
    int64_t best = 0;
    for (int64_t more = 0; more < kTried && fewest > 1 && place_runs(draft, cuts, more) <= AnyBox::kBytes; ++more) {
        const int32_t conflicts = count_conflicts(locate_lanes(*draft, cuts), draft->word);
        if (conflicts < fewest) {
            fewest = conflicts;
            best = more;
        }
    }
    place_runs(draft, cuts, best);
    return fewest != INT32_MAX;
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

// Shares words among threads. A warp has one run of many words, or several of few. Threads after the last whole run are
// idle.
BoxParams::Share share(int64_t words) {
    constexpr int64_t kWarp = 32;
    const int64_t threads = divide_up(words, divide_up(words, kWarp));
    return {static_cast<uint32_t>(words), static_cast<uint32_t>(AnyBox::kThreads / threads),
            make_divisor<uint32_t>(threads)};
}

void measure_words(const Draft &draft) {
    constexpr int64_t kWhole = 16;
    BoxParams &params = *draft.params;
    const int64_t element = draft.shape.element;
    params.loading = share(divide_up(draft.span + kWhole - std::min(draft.src_alignment, kWhole), kWhole));
    params.dense = is_dense(params.columns);
    params.level = std::all_of(params.dst_rows.axes, params.dst_rows.axes + params.dst_rows.ndim,
                               [&](const auto &axis) { return axis.step * element % draft.word == 0; });
    const int64_t early = draft.word - std::min(draft.dst_alignment, draft.word);
    params.storing =
        share(params.dense ? divide_up(params.columns.count * element + early, draft.word) : params.columns.count);
    params.rows_low = params.rows_high = 0;
    const int32_t whole = params.src_rows.ndim - (params.src_rows.unit != 0 ? 1 : 0);
    for (int32_t i = 0; i < whole; ++i) {
        const BoxParams::ListAxis &axis = params.src_rows.axes[i];
        const int64_t reach = int64_t{axis.extent.divisor - 1} * axis.step * element;
        (reach < 0 ? params.rows_low : params.rows_high) += reach;
    }
}

Id box_kernel(int32_t element) {
    switch (element) {
        case 1:
            return Id::via_box_1;
        case 2:
            return Id::via_box_2;
        case 4:
            return Id::via_box_4;
        case 8:
            return Id::via_box_8;
        default:
            return Id::via_box_16;
    }
}

// Returns whether steps within a run fit 16 bits.
bool fits_runs(const Tile &tile) { return tile.dst.span <= UINT16_MAX && tile.src.span <= UINT16_MAX; }

double store_cost(const Draft &draft) {
    const BoxParams &params = *draft.params;
    return draft.shape.element >= 4 || !params.dense ? kStore : params.level ? kGather : kGatherLoose;
}

// Estimates microseconds. Counts tiles cut short at the ends as whole ones.
double cost_of(const Draft &draft) {
    const BoxParams &params = *draft.params;
    const double sectors = count_sectors(draft.problem, draft.tile.dst, draft.dst_alignment) +
                           count_sectors(draft.problem, draft.tile.src, draft.src_alignment);
    const double loads = static_cast<double>(params.src_rows.count) * params.loading.count;
    const double stores = static_cast<double>(params.dst_rows.count) * params.storing.count;
    const double entries = params.src_rows.count + params.columns.count + params.dst_rows.count;
    return kStart + params.tiles * std::max(sectors * kSector, loads * kLoad + stores * store_cost(draft)) +
           params.blocks * entries * kEntry + static_cast<double>(divide_up(params.tiles, params.blocks)) * kTurn;
}

bool make_box(const Shape &shape, const TileProblem &problem, const Tile &tile, KernelPlan *plan, double *out_cost) {
    BoxParams &params = plan->params.box;
    Draft draft{shape, problem, tile, &params, std::max<int64_t>(shape.element, 4), 0, 0, 0, {}, 0, 1, 1};
    int32_t cuts[2];
    int64_t tiles = 0;
    if (!fits_runs(tile) || !number_cuts(draft, cuts)) {
        return false;
    }
    sort_axes(&draft);
    if (!make_lists(draft, cuts)) {
        return false;
    }
    measure_cuts(draft, cuts);
    measure_words(draft);
    if (!choose_places(&draft, cuts) || !make_lists(draft, cuts) || !number_tiles(draft, cuts, &tiles)) {
        return false;
    }
    params.dst = shape.dst;
    params.src = shape.src;
    params.extent = shape.extent;
    params.tiles = static_cast<uint32_t>(tiles);
    plan->kernel = box_kernel(shape.element);
    plan->blocks = params.blocks = static_cast<uint32_t>(std::min(tiles, kBlocks));
    plan->element = shape.element;
    plan->route = KernelRoute::Box;
    plan->word = shape.element;
    plan->tile[0] = tile.dst.span / shape.element;
    plan->tile[1] = tile.src.span / shape.element;
    *out_cost = cost_of(draft);
    return true;
}

}  // namespace

// Tries runs of dst as long as those of src, longer and shorter. Tiles take all memory of a block, or less, so that
// small copies have tiles for every multiprocessor.
const BoxKind box_kinds[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {4, 1, 1},  {1, 4, 1},
                             {1, 1, 4}, {2, 1, 4}, {1, 2, 4}, {1, 1, 16}, {0, 0, 0}};

// Returns the bytes of runs. Their product is that of the tile's bytes and an element's.
TileTarget target_of(const Shape &shape, const BoxKind &kind) {
    const auto room = static_cast<double>(AnyBox::kBytes / kind.part * 7 / 8 * shape.element);
    const double ratio = static_cast<double>(kind.dst) / static_cast<double>(kind.src);
    const auto dst = static_cast<int64_t>(std::sqrt(room * ratio));
    const auto src = static_cast<int64_t>(std::sqrt(room / ratio));
    const auto whole = [](int64_t bytes) {
        return std::max<int64_t>(bytes / kSectorBytes * kSectorBytes, kSectorBytes);
    };
    return {whole(dst), whole(src), AnyBox::kBytes / kind.part / shape.element, AnyBox::kBytes / kind.part, true};
}

// Grows a smaller tile if one does not fit because of its gaps or tables.
bool plan_box_of(const Shape &shape, const BoxKind &kind, KernelPlan *out_plan, double *out_cost) {
    constexpr int64_t kLeastElements = 64;
    constexpr int32_t kTries = 6;
    const TileProblem problem{shape.axes, shape.ndim, shape.element, kSectorBytes};
    TileTarget target = target_of(shape, kind);
    for (int32_t i = 0; i < kTries && target.most >= kLeastElements; ++i) {
        Tile tile;
        for (const bool widen : {true, false}) {
            target.widen = widen;
            grow_tile(problem, target, &tile);
            if (tile.elements >= kLeastElements && make_box(shape, problem, tile, out_plan, out_cost)) {
                return true;
            }
        }
        target.most = std::min(target.most, tile.elements) * 3 / 4;
    }
    return false;
}

bool plan_box(const Shape &shape, double most_cost, KernelPlan *out_plan) {
    bool found = false;
    for (const BoxKind *kind = box_kinds; kind->part != 0; ++kind) {
        KernelPlan plan;
        double cost = 0;
        if (plan_box_of(shape, *kind, &plan, &cost) && cost < most_cost) {
            most_cost = cost;
            *out_plan = plan;
            found = true;
        }
    }
    return found;
}

}  // namespace via::cuda
