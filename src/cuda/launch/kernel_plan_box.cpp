#include "cuda/launch/kernel_plan_box.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/launch/box_tile.hpp"
#include "cuda/launch/kernel_cost.hpp"

namespace via::cuda {
namespace {

using kernels::BoxParams;
using kernels::Id;
using AnyBox = kernels::Box<4>;

constexpr size_t kMostBoxes = 3 * std::size(kBoxKinds);
constexpr int64_t kBlocks = 132 * AnyBox::kLeastBlocks;  // at once, on an H200

// Costs of a box, in microseconds of the whole GPU: fitted to copies of random layouts on an H200.
constexpr double kStart = 4.65;      // until the first block stores
constexpr double kEntry = 4.1e-3;    // of the tables
constexpr double kStored = 1.23e-5;  // a sector of dst
constexpr double kLoaded = 8.5e-6;   // a burst of src
constexpr double kPart = 1.67e-5;    // a sector that is stored in parts
constexpr double kOfLarge = 0.09;    // of that, for elements of which few make a sector
constexpr double kCycle = 3e-6;      // of a multiprocessor, for the work of all of them
constexpr double kTileCycles = 450;  // to find a tile
constexpr double kLoadCycles = 7.5;  // for a warp to load a sixteen for each lane
constexpr double kSmall = 1.3;       // times as many cycles for elements of one or two bytes

static_assert(kernel_of_size(Id::via_box_1, 16) == Id::via_box_16);

// Returns the sectors of dst that a tile stores in part.
double count_parts(const BoxTile &box) {
    const double ends = 2.0 * box.params.dst_rows.count;
    if (box.dst_alignment >= kSectorBytes) {
        return 0;
    }
    const int32_t axis = box.owned_axis;
    return axis < 0
               ? ends
               : ends * static_cast<double>(box.tile.extent[axis]) / static_cast<double>(box.shape->axes[axis].extent);
}

// Returns the sectors that take as long to cross as the end of a run: half of one, and a request for each element of a
// word that lies partly outside.
double sectors_of_end(const BoxTile &box) {
    constexpr double kElement = 0.4;
    const int64_t others = box.word / box.shape->element - 1;
    return 0.5 + kElement * static_cast<double>(others);
}

// Returns the requests for a sector of dst. Where runs have gaps, a warp stores 32 elements from anywhere on.
double requests_of_sector(const BoxTile &box) { return box.params.dense ? 1 : 1 + 1.0 / box.shape->element; }

// Returns how long blocks wait for a tile across a link before they store it.
double wait_of(FarSide side) {
    constexpr double kPulled = 8;
    constexpr double kPushed = 7;
    return side == FarSide::Src ? kPulled : side == FarSide::Dst ? kPushed : 0;
}

// Estimates microseconds. Counts tiles cut short at the ends as whole ones.
double cost_of(const BoxTile &box) {
    const BoxParams &params = box.params;
    const TileProblem problem{box.shape->axes, box.shape->ndim, box.shape->element, kSectorBytes};
    const double again =
        box.owned_axis < 0 ? 0 : static_cast<double>(box.more) / static_cast<double>(box.tile.extent[box.owned_axis]);
    const double stored = count_sectors(problem, box.tile.dst, kSectorBytes) * (1 - again);
    const double loaded = count_sectors(problem, box.tile.src, box.src_alignment) * (1 - again / 2);
    const double parts = count_parts(box);
    const double read = count_sectors({box.shape->axes, box.shape->ndim, box.shape->element, kBurstBytes}, box.tile.src,
                                      box.src_alignment);
    const double memory = (stored * kStored + read * kLoaded) * memory_share(*box.shape) +
                          parts * kPart * (box.shape->element <= 4 ? 1 : kOfLarge);
    const double filled = filled_sectors(*box.shape) * kFilledSector;
    const double busy = std::min(1.0, params.tiles / 132.0);  // multiprocessors
    constexpr int32_t kWarps = AnyBox::kThreads / 32;
    const double small = box.shape->element <= 2 ? kSmall : 1;
    const double cycles =
        kTileCycles + kWarps * (box.store_turns * box_store_cycles(box) * small + box.load_turns * kLoadCycles);
    const double entries = params.src_rows.count + params.columns.count + params.dst_rows.count;
    const double within =
        kStart + entries * kEntry + combine({params.tiles * memory + filled, params.tiles * cycles * kCycle / busy});
    const double crossing = stored * requests_of_sector(box) + parts * sectors_of_end(box);
    return std::max(within, wait_of(box.shape->far_side) +
                                cost_of_crossing(*box.shape, params.tiles * crossing, params.tiles * loaded));
}

// Returns the bytes of runs. Their product is that of the tile's bytes and an element's. Those of dst are stored by
// whole warps, and have what a tile leaves to the next one.
TileTarget target_of(const Shape &shape, const BoxKind &kind) {
    const int64_t all = AnyBox::kBytes / kind.part * 7 / 8 * shape.element;
    const auto room = static_cast<double>(all);
    const double ratio = static_cast<double>(kind.dst) / static_cast<double>(kind.src);
    const auto whole = [](double bytes, int64_t unit) {
        return std::max<int64_t>(static_cast<int64_t>(bytes) / unit * unit, unit);
    };
    const double wanted = std::sqrt(room * ratio);
    const int64_t dst = whole(wanted, wanted >= 4 * kSectorBytes ? 4 * kSectorBytes : kSectorBytes);
    const int64_t more = begins_anywhere(shape, dst) ? kSectorBytes - shape.element : 0;
    const int64_t src = whole(std::min(std::sqrt(room / ratio), room / static_cast<double>(dst + more)), kSectorBytes);
    return {dst + more, src, AnyBox::kBytes / kind.part / shape.element, AnyBox::kBytes / kind.part,
            TileFill::LongerRuns};
}

// Grows a smaller tile if one does not fit because of its gaps or tables.
bool grow_box(const Shape &shape, TileTarget target, BoxTile *out) {
    constexpr int64_t kLeastElements = 64;
    constexpr int32_t kTries = 6;
    const TileProblem problem{shape.axes, shape.ndim, shape.element, kSectorBytes};
    for (int32_t i = 0; i < kTries && target.most >= kLeastElements; ++i) {
        Tile tile;
        grow_tile(problem, target, &tile);
        if (tile.elements < kLeastElements) {
            return false;
        }
        if (make_box_tile(shape, tile, out)) {
            return true;
        }
        target.most = std::min(target.most, tile.elements) * 3 / 4;
        target.most_bytes = target.most_bytes * 7 / 8;
    }
    return false;
}

bool are_same(const Tile &a, const Tile &b, int32_t ndim) { return std::equal(a.extent, a.extent + ndim, b.extent); }

// The tiles that are tried, those with the least cost first. Their words and places are not spread yet.
struct Candidates {
    BoxTile boxes[kMostBoxes];
    double costs[kMostBoxes];
    int32_t count = 0;

    void add(const BoxTile &box) {
        for (int32_t i = 0; i < count; ++i) {
            if (are_same(boxes[i].tile, box.tile, box.shape->ndim)) {
                return;
            }
        }
        boxes[count] = box;
        costs[count++] = cost_of(box);
    }
};

// Adds a tile that fills the memory with longer and further runs, one with further runs alone, and one with neither.
void add_kind(const Shape &shape, const BoxKind &kind, Candidates *out) {
    TileTarget target = target_of(shape, kind);
    for (const TileFill fill : {TileFill::LongerRuns, TileFill::MoreRuns, TileFill::None}) {
        target.fill = fill;
        BoxTile box;
        if (grow_box(shape, target, &box)) {
            out->add(box);
        }
    }
}

// Spreads the candidates whose cost may be the least, for conflicts only add to it. Returns the best one, or nullptr if
// all cost more than `most_cost`.
const BoxTile *choose(Candidates *candidates, double most_cost, double *out_cost) {
    const BoxTile *best = nullptr;
    *out_cost = most_cost;
    for (;;) {
        const int32_t least = static_cast<int32_t>(
            std::min_element(candidates->costs, candidates->costs + candidates->count) - candidates->costs);
        if (candidates->count == 0 || candidates->costs[least] >= *out_cost) {
            return best;
        }
        spread_box_tile(&candidates->boxes[least]);
        const double cost = cost_of(candidates->boxes[least]);
        if (cost < *out_cost) {
            *out_cost = cost;
            best = &candidates->boxes[least];
        }
        candidates->costs[least] = INFINITY;
    }
}

void make_plan(const BoxTile &box, double cost, KernelPlan *plan) {
    plan->params.box = box.params;
    plan->kernel = kernel_of_size(Id::via_box_1, box.shape->element);
    plan->blocks = static_cast<uint32_t>(std::min<int64_t>(box.params.tiles, kBlocks));
    plan->params.box.blocks = plan->blocks;
    plan->route = KernelRoute::Box;
    plan->element = plan->word = box.shape->element;
    plan->tile[0] = box.tile.dst.span / box.shape->element;
    plan->tile[1] = box.tile.src.span / box.shape->element;
    plan->cost = cost;
}

}  // namespace

bool plan_box(const Shape &shape, double most_cost, KernelPlan *out_plan, std::span<const BoxKind> kinds) {
    Candidates candidates;
    for (const BoxKind &kind : kinds) {
        add_kind(shape, kind, &candidates);
    }
    double cost = 0;
    const BoxTile *best = choose(&candidates, most_cost, &cost);
    if (best != nullptr) {
        make_plan(*best, cost, out_plan);
    }
    return best != nullptr;
}

}  // namespace via::cuda
