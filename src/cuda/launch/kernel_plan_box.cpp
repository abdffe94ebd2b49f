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
    int64_t word;
    uint64_t of_columns;  // axes by number, as bits
    uint64_t of_src_runs;
    int64_t src_runs[VIA_MAX_NDIM + 1];  // of each axis that is not along src runs: from one index to the next
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

bool append(const Draft &draft, int32_t axis, List *list) {
    if (list->ndim == BoxParams::kListAxes) {
        return false;
    }
    const Axis &given = draft.shape.axes[axis];
    const int64_t extent = draft.tile.extent[axis];
    const bool along = has(draft.of_src_runs, axis);
    list->axes[list->ndim++] = {make_divisor<uint32_t>(extent), static_cast<int32_t>(draft.src_runs[axis]),
                                along ? static_cast<int32_t>(given.src_step) : 0, given.dst_step,
                                along ? 0 : given.src_step};
    list->count *= static_cast<uint32_t>(extent);
    return true;
}

// Lists axes, the cut one last. Returns false if two are cut, or if there are too many.
bool make_list(const Draft &draft, uint64_t axes, const int32_t *cuts, List *list) {
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
        } else if (!append(draft, i, list)) {
            return false;
        }
    }
    if (last < 0) {
        return true;
    }
    list->unit = list->count;
    list->cut = last == cuts[1] ? 1 : 0;
    return append(draft, last, list);
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

// Returns whether every offset of a list fits 32 bits.
bool fits_offsets(const Draft &draft, const List &list, int64_t BoxParams::ListAxis::*step) {
    int64_t reach = 0;
    for (int32_t i = 0; i < list.ndim; ++i) {
        reach += int64_t{list.axes[i].extent.divisor} * std::abs(list.axes[i].*step) / draft.shape.element;
    }
    return reach <= INT32_MAX;
}

bool make_lists(Draft *draft, const int32_t *cuts) {
    BoxParams &params = *draft->params;
    for (int32_t i = 0; i < draft->tile.src.ndim; ++i) {
        draft->of_src_runs |= uint64_t{1} << draft->tile.src.axes[i];
    }
    find_columns(draft);
    std::fill_n(draft->src_runs, draft->shape.ndim, int64_t{0});
    if (!make_list(*draft, ~draft->of_src_runs, cuts, &params.src_rows)) {
        return false;
    }
    // Runs of src are counted in the order of their list.
    int64_t runs = 1;
    for (int32_t pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < draft->shape.ndim; ++i) {
            const bool last = i == cuts[0] || i == cuts[1];
            if (!has(draft->of_src_runs, i) && draft->tile.extent[i] > 1 && last == (pass == 1)) {
                draft->src_runs[i] = runs;
                runs *= draft->tile.extent[i];
            }
        }
    }
    return make_list(*draft, draft->of_columns, cuts, &params.columns) &&
           make_list(*draft, ~draft->of_columns, cuts, &params.dst_rows) &&
           params.columns.count <= AnyBox::kMostColumns && params.dst_rows.count <= AnyBox::kMostRows &&
           params.src_rows.count <= AnyBox::kMostRows &&
           fits_offsets(*draft, params.src_rows, &BoxParams::ListAxis::src_step) &&
           fits_offsets(*draft, params.dst_rows, &BoxParams::ListAxis::dst_step);
}

bool has_runs(const List &list) {
    return std::any_of(list.axes, list.axes + list.ndim, [](const auto &axis) { return axis.src_runs != 0; });
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

// Returns whether columns alone or rows alone tell the run of src, or its alignment makes that irrelevant.
bool find_past(Draft *draft) {
    draft->src_alignment = alignment_of(*draft, draft->of_src_runs, draft->shape.src, &Axis::src_step);
    draft->dst_alignment = alignment_of(*draft, draft->of_columns, draft->shape.dst, &Axis::dst_step);
    const bool columns = has_runs(draft->params->columns);
    const bool rows = has_runs(draft->params->dst_rows);
    draft->params->rows_are_runs = rows && !columns;
    return !(rows && columns) || draft->src_alignment % draft->word == 0;
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
        params.cuts[i] = {1, 1, make_divisor<uint32_t>(1), 0, 0, 0, 0};
        if (cuts[i] < 0) {
            continue;
        }
        const Axis &axis = draft.shape.axes[cuts[i]];
        const int64_t tile = draft.tile.extent[cuts[i]];
        const auto along =
            has(draft.of_src_runs, cuts[i]) ? static_cast<uint32_t>(std::abs(axis.src_step)) : uint32_t{0};
        params.cuts[i] = {static_cast<uint32_t>(axis.extent),
                          static_cast<uint32_t>(tile),
                          make_divisor<uint32_t>(divide_up(axis.extent, tile)),
                          axis.dst_step,
                          axis.src_step,
                          along,
                          axis.src_step < 0 ? along : 0};
    }
}

// Counts the tiles, and gives the kernel the axes that no tile goes along.
bool count_tiles(const Draft &draft, const int32_t *cuts, int64_t *out_tiles) {
    uint64_t inner = 0;
    for (int32_t i = 0; i < draft.shape.ndim; ++i) {
        inner |= draft.tile.extent[i] > 1 || i == cuts[0] || i == cuts[1] ? uint64_t{1} << i : 0;
    }
    *out_tiles = int64_t{draft.params->cuts[0].tiles.divisor} * draft.params->cuts[1].tiles.divisor;
    return fits_index(*out_tiles) && fill_outer(draft.shape, inner, draft.params, out_tiles);
}

// The positions of the first elements that the lanes of a warp read.
struct Lanes {
    int64_t runs[32];
    int64_t bytes[32];
    int32_t count;
};

void locate(const List &list, uint32_t index, int64_t *runs, int64_t *bytes) {
    for (int32_t i = 0; i < list.ndim; ++i) {
        const BoxParams::ListAxis &axis = list.axes[i];
        const auto at = static_cast<int64_t>(index % axis.extent.divisor);
        index /= axis.extent.divisor;
        *runs += at * axis.src_runs;
        *bytes += at * axis.src_bytes;
    }
}

Lanes locate_lanes(const Draft &draft) {
    const BoxParams &params = *draft.params;
    const auto per_word = static_cast<uint32_t>(params.dense ? draft.word / draft.shape.element : 1);
    Lanes lanes{};
    lanes.count = static_cast<int32_t>(128 / draft.word);
    for (int32_t i = 0; i < lanes.count; ++i) {
        const auto word = static_cast<uint32_t>(i);
        const uint32_t row = word / params.storing.threads.divisor;
        const uint32_t column = word % params.storing.threads.divisor * per_word;
        if (row >= params.dst_rows.count || column >= params.columns.count) {
            lanes.count = i;
            break;
        }
        locate(params.columns, column, lanes.runs + i, lanes.bytes + i);
        locate(params.dst_rows, row, lanes.runs + i, lanes.bytes + i);
    }
    return lanes;
}

// Returns the most different words of one bank that the lanes ask for.
int32_t count_conflicts(const Lanes &lanes, int64_t word, int64_t pitch, int64_t skew) {
    int64_t asked[32][32];
    int32_t counts[32] = {};
    int32_t most = 0;
    for (int32_t i = 0; i < lanes.count; ++i) {
        const int64_t at = (lanes.runs[i] * pitch + lanes.runs[i] / 32 * skew + lanes.bytes[i]) / word;
        const auto bank = static_cast<uint64_t>(at) % static_cast<uint64_t>(128 / word);
        if (std::find(asked[bank], asked[bank] + counts[bank], at) == asked[bank] + counts[bank]) {
            asked[bank][counts[bank]++] = at;
            most = std::max(most, counts[bank]);
        }
    }
    return most;
}

// Chooses the distance of runs of src in shared memory, so that lanes which read across them use many banks.
bool choose_pitch(Draft *draft) {
    constexpr int32_t kTried = 8;
    BoxParams &params = *draft->params;
    const Lanes lanes = locate_lanes(*draft);
    const bool linear = has_runs(params.columns) && has_runs(params.dst_rows);
    const int64_t skew = draft->shape.element < 4 && !linear ? draft->word : 0;
    const auto runs = static_cast<int64_t>(params.src_rows.count);
    int32_t fewest = INT32_MAX;
    for (int32_t i = 0; i < kTried && fewest > 1; ++i) {
        const int64_t pitch = (params.loading.count + i) * draft->word;
        if (runs * pitch + runs / 32 * skew > AnyBox::kBytes) {
            break;
        }
        const int32_t conflicts = count_conflicts(lanes, draft->word, pitch, skew);
        if (conflicts < fewest) {
            fewest = conflicts;
            params.pitch = static_cast<uint32_t>(pitch);
            params.skew = static_cast<uint32_t>(skew);
        }
    }
    return fewest != INT32_MAX;
}

bool is_dense(const List &columns, int64_t element) {
    int64_t step = element;
    for (int32_t i = 0; i < columns.ndim; ++i) {
        if (columns.axes[i].dst_step != step) {
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

void measure_words(Draft *draft) {
    BoxParams &params = *draft->params;
    const int64_t element = draft->shape.element;
    const int64_t before = draft->src_alignment % draft->word == 0 ? 0 : draft->word - element;
    int64_t span = params.span;
    for (const BoxParams::Cut &cut : params.cuts) {
        span += int64_t{cut.tile - 1} * cut.along;
    }
    params.loading = share(divide_up(span + before, draft->word));
    params.dense = is_dense(params.columns, element);
    params.aligned = draft->dst_alignment % draft->word == 0;
    const int64_t early = draft->dst_alignment % draft->word == 0 ? 0 : draft->word - element;
    params.storing =
        share(params.dense ? divide_up(params.columns.count * element + early, draft->word) : params.columns.count);
    params.rows_low = params.rows_high = 0;
    const int32_t whole = params.src_rows.ndim - (params.src_rows.unit != 0 ? 1 : 0);
    for (int32_t i = 0; i < whole; ++i) {
        const BoxParams::ListAxis &axis = params.src_rows.axes[i];
        const int64_t reach = int64_t{axis.extent.divisor - 1} * axis.src_step;
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
    return draft.shape.element >= 4 || !params.dense ? kStore : params.aligned ? kGather : kGatherLoose;
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
    Draft draft{shape, problem, tile, &params, std::max<int64_t>(shape.element, 4), 0, 0, {}, 1, 1};
    int32_t cuts[2];
    int64_t tiles = 0;
    if (!fits_runs(tile) || !number_cuts(draft, cuts) || !make_lists(&draft, cuts) || !find_past(&draft)) {
        return false;
    }
    measure_cuts(draft, cuts);
    measure_words(&draft);
    if (!choose_pitch(&draft) || !count_tiles(draft, cuts, &tiles)) {
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
