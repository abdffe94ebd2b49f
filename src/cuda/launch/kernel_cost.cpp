#include "cuda/launch/kernel_cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_copy.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kLineBytes = 128;
constexpr double kFewLoads = 1.2;  // elements and tiles have few loads under way across a link

// Returns the part of a copy that the second-level cache does not hold: 0 for small copies, 1 for large ones.
double past_caches(const Shape &shape) {
    constexpr double kSmall = 8 << 20;
    constexpr double kLarge = 24 << 20;
    return std::clamp((static_cast<double>(shape.nbytes) - kSmall) / (kLarge - kSmall), 0.0, 1.0);
}

// Runs of adjacent bytes.
struct Runs {
    int64_t nbytes;  // of each
    int64_t step;    // from one to the next
};

Runs find_dst_runs(const Shape &shape) {
    int64_t nbytes = shape.element;
    int32_t i = 0;
    for (; i < shape.ndim && shape.axes[i].dst_step == nbytes; ++i) {
        nbytes *= shape.axes[i].extent;
    }
    return {nbytes, i < shape.ndim ? shape.axes[i].dst_step : nbytes};
}

}  // namespace

bool begins_anywhere(const Shape &shape, int64_t bytes) {
    uint64_t all = shape.dst;
    for (int32_t i = 0; i < shape.ndim; ++i) {
        all |= shape.axes[i].dst_step >= bytes ? static_cast<uint64_t>(shape.axes[i].dst_step) : 0;
    }
    return all % kSectorBytes != 0;
}

void Region::add(int64_t extent, int64_t step) {
    if (step == 0 || extent == 1) {
        return;
    }
    int32_t at = count_++;
    for (; at > 0 && moves_[at - 1].step > std::abs(step); --at) {
        moves_[at] = moves_[at - 1];
    }
    moves_[at] = {extent, std::abs(step)};
}

double Region::count_units(int64_t element, int64_t begins, int64_t unit) const {
    double runs = 1;
    int64_t span = element;
    for (int32_t i = 0; i < count_; ++i) {
        if (moves_[i].step < span + unit) {
            span += (moves_[i].extent - 1) * moves_[i].step;
        } else {
            runs *= static_cast<double>(moves_[i].extent);
        }
    }
    return runs * static_cast<double>(span + unit - std::clamp(begins, element, unit)) / static_cast<double>(unit);
}

double read_per_byte(const Shape &shape) {
    const TileProblem problem{shape.axes, shape.ndim, shape.element, kSectorBytes};
    Tile tile;
    grow_tile(problem, {0, INT64_MAX / 2, INT64_MAX / 2}, &tile);
    const double read = count_sectors(problem, tile.src, kSectorBytes) * kSectorBytes;
    const double wanted = static_cast<double>(tile.elements) * shape.element;
    return std::max(1.0, read / wanted);
}

double combine(std::initializer_list<double> bounds) {
    double sum = 0;
    for (const double bound : bounds) {
        sum += bound * bound;
    }
    return std::sqrt(sum);
}

double memory_share(const Shape &shape) {
    constexpr double kOfCached = 0.4;
    return kOfCached + (1 - kOfCached) * past_caches(shape);
}

double filled_sectors(const Shape &shape) {
    const Runs runs = find_dst_runs(shape);
    const int64_t nbytes = runs.nbytes;
    if (nbytes == shape.nbytes || (nbytes % kSectorBytes == 0 && !begins_anywhere(shape, nbytes))) {
        return 0;
    }
    const double count = static_cast<double>(shape.nbytes) / static_cast<double>(nbytes);
    const double touched = static_cast<double>(std::min(nbytes + kSectorBytes - 1, runs.step)) / kSectorBytes;
    return count * std::min(2.0, touched) * past_caches(shape);
}

double cost_of_blocks(const Shape &shape, uint32_t blocks, double read, const KernelRates &rates) {
    constexpr double kFilled = 4;  // a byte of a sector that is filled, next to one that is read and stored
    const double moved = static_cast<double>(shape.nbytes) * (1 + rates.wasted * (read - 1)) * memory_share(shape) +
                         filled_sectors(shape) * kSectorBytes * kFilled;
    return rates.start + combine({moved / rates.bytes, blocks * rates.per_block});
}

namespace {

// What threads with neighbouring numbers touch on one side.
class Touched {
public:
    Touched(const Shape &shape, const ElementsWalk &walk, int64_t Axis::*step)
        : shape_(shape), walk_(walk), step_(step) {}

    // Returns the units of so many bytes that are touched for an element, where threads with `numbers` neighbouring
    // numbers take `each` elements.
    double per_element(int64_t numbers, int64_t each, int64_t unit) {
        Region region;
        double elements = 1;
        // Adds as much of an axis as `left` leaves.
        const auto add = [&](int32_t axis, int64_t most, int64_t step) {
            const int64_t extent = std::min(most, numbers);
            numbers = divide_up(numbers, extent);
            elements *= static_cast<double>(extent);
            region.add(extent, shape_.axes[axis].*step_ * step);
        };
        for (int32_t i = 0; i < walk_.ndim; ++i) {
            const int32_t axis = walk_.numbered[i];
            add(axis, axis == walk_.axis ? walk_.unit : shape_.axes[axis].extent, 1);
        }
        const int64_t all = divide_up(shape_.axes[walk_.axis].extent, walk_.unit);
        const int64_t there = std::min(each, all);
        numbers *= there;
        add(walk_.axis, numbers > there ? all : there, walk_.unit);
        for (int32_t i = 0; i < shape_.ndim && numbers > 1; ++i) {
            if (!walk_.has(i)) {
                add(i, shape_.axes[i].extent, 1);
            }
        }
        return region.count_units(shape_.element, shape_.element, unit) / elements;
    }

private:
    const Shape &shape_;
    const ElementsWalk &walk_;
    int64_t Axis::*const step_;
};

// Returns the sectors that a warp stores. A request takes as long as one and a third at least, and longer where threads
// wait for one small element each.
double stored_by_warp(const Shape &shape, const ElementsWalk &walk, Touched *dst) {
    const double least = walk.each == 1 && shape.element < 4 ? 2.6 : 1.35;
    const double sectors = find_dst_runs(shape).nbytes == shape.nbytes
                               ? static_cast<double>(kElementsOfWarp) * shape.element / kSectorBytes
                               : dst->per_element(kElementsOfWarp, 1, kSectorBytes) * kElementsOfWarp;
    return std::max(sectors, least);
}

}  // namespace

// A warp asks for lines, and what it has not used of their sectors may still be in a cache when others come to it: in
// that of the multiprocessor, or in that of all, which holds small copies whole.
double cost_of_elements(const Shape &shape, const ElementsWalk &walk) {
    constexpr double kStart = 3.8;
    constexpr double kLoadedLine = 1.32e-6;  // that a warp asks for
    constexpr double kStoredLine = 1.54e-5;
    constexpr double kSector = 6.8e-6;  // of src, for a block
    constexpr double kCached = 5e-6;    // a burst of src, for the whole GPU, if copies are small
    constexpr double kBurst = 1.31e-5;  // of either side, if they are not
    constexpr double kBlockAxis = 1.77e-4;
    constexpr double kLongWalk = 1.06;  // a thread that goes on for more bytes than kMostShort
    constexpr int64_t kMostShort = 16;  // bytes
    constexpr int64_t kWarp = 32;
    constexpr int64_t kOfGpu = int64_t{1} << 20;  // elements
    const double count = static_cast<double>(shape.nbytes) / shape.element;
    const double large = past_caches(shape);
    Touched src(shape, walk, &Axis::src_step);
    Touched dst(shape, walk, &Axis::dst_step);
    const double lines =
        src.per_element(kWarp, 1, kLineBytes) * kLoadedLine + dst.per_element(kWarp, 1, kLineBytes) * kStoredLine;
    const double sectors = src.per_element(kernels::Elements<1, 1>::kThreads, walk.each, kSectorBytes);
    const double read = src.per_element(kOfGpu / walk.each, walk.each, kBurstBytes);
    const double stored = dst.per_element(kOfGpu / walk.each, walk.each, kBurstBytes);
    const double bursts = large * (read + stored) * kBurst + (1 - large) * read * kCached;
    const double memory = (count * bursts + filled_sectors(shape) * kFilledSector) *
                          (walk.each * shape.element > kMostShort ? kLongWalk : 1);
    const double work = static_cast<double>(count_blocks(shape, walk)) * (1 + shape.ndim) * kBlockAxis;
    const double within = kStart + combine({count * lines, count * sectors * kSector, memory, work});
    if (shape.far_side == FarSide::None) {
        return within;
    }
    const double sectors_stored = count * stored_by_warp(shape, walk, &dst) / kElementsOfWarp;
    return std::max(within, cost_of_crossing(shape, sectors_stored, count * sectors * kFewLoads));
}

namespace {

// Returns the parts of a sector that lie at the ends of a run and are moved for nothing. Tiles find most of what they
// load in the cache.
double ends_of_run(const Shape &shape, const KernelPlan &plan) {
    constexpr double kLoadedByTiles = 0.25;
    const bool in_tiles = plan.route == KernelRoute::Tiles;
    if (shape.far_side == FarSide::Src) {
        return in_tiles ? kLoadedByTiles : 0;
    }
    const int32_t elements = plan.word / plan.element;
    return elements == 1 ? 0 : in_tiles ? 1 : elements;
}

// Returns the requests for both ends of whole runs that tiles store, for a sector. Those of small elements are stored
// in parts of 1, 2, 4 and 8 bytes, unless rows are joined.
double parts_of_runs(const Shape &shape, const KernelPlan &plan) {
    const bool of_tiles = shape.far_side == FarSide::Dst && plan.route == KernelRoute::Tiles;
    if (!of_tiles || plan.element >= 4 || plan.params.tile.joined.divisor != 0) {
        return 0;
    }
    const double run = static_cast<double>(plan.params.tile.a.count) * plan.element;
    return 4.0 / plan.element * kSectorBytes / run;
}

// Returns the length of the runs on the far side.
int64_t bytes_of_run(const Shape &shape, const KernelPlan &plan) {
    if (plan.tile[0] == 0) {
        return shape.run;
    }
    return shape.far_side == FarSide::Src ? plan.tile[1] * plan.element
                                          : std::min(plan.tile[0] * plan.element, shape.axes[0].extent * shape.element);
}

}  // namespace

double cost_of_crossing(const Shape &shape, double stored, double loaded) {
    constexpr double kPushStart = 5.2;  // until the first store has arrived, and the last
    constexpr double kPullStart = 7.3;  // until loads have been there and back
    const double rate = link_bytes(shape.element);
    switch (shape.far_side) {
        case FarSide::Dst:
            return kPushStart + stored * kSectorBytes / rate;
        case FarSide::Src:
            return kPullStart + loaded * kSectorBytes / rate;
        default:
            return 0;
    }
}

double cost_across_link(const Shape &shape, const KernelPlan &plan) {
    const bool is_counted = plan.route == KernelRoute::Elements || plan.route == KernelRoute::Box;
    if (shape.far_side == FarSide::None || is_counted) {
        return plan.cost;
    }
    const double each = 1 + ends_of_run(shape, plan) * kSectorBytes / static_cast<double>(bytes_of_run(shape, plan)) +
                        parts_of_runs(shape, plan);
    const double sectors = static_cast<double>(shape.nbytes) / kSectorBytes * each;
    const double waits = plan.route == KernelRoute::Tiles ? kFewLoads : 1;
    const double loaded = shape.far_side == FarSide::Src ? sectors * read_per_byte(shape) * waits : 0;
    return std::max(plan.cost, cost_of_crossing(shape, sectors, loaded));
}

}  // namespace via::cuda
