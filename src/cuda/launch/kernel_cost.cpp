#include "cuda/launch/kernel_cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/layout/tiles.hpp"
#include "cuda/launch/kernel_copy.hpp"

namespace via::cuda {
namespace {

constexpr int64_t kLineBytes = 128;

// Returns how many bytes are read for one that is wanted, because src has gaps.
double read_per_byte(const Shape &shape) {
    const TileProblem problem{shape.axes, shape.ndim, shape.element, kSectorBytes};
    Tile tile;
    grow_tile(problem, {0, INT64_MAX / 2, INT64_MAX / 2}, &tile);
    const double read = count_sectors(problem, tile.src, kSectorBytes) * kSectorBytes;
    const double wanted = static_cast<double>(tile.elements) * shape.element;
    return std::max(1.0, read / wanted);
}

// Returns the units that are touched in src for an element, by `count` of them that are neighbours in dst.
double touched_per_element(const Shape &shape, int64_t count, int64_t unit) {
    const TileProblem problem{shape.axes, shape.ndim, shape.element, unit};
    Tile tile;
    grow_tile(problem, {count * shape.element, 0, count}, &tile);
    return count_sectors(problem, tile.src, shape.element) / static_cast<double>(tile.elements);
}

}  // namespace

double combine(std::initializer_list<double> bounds) {
    double sum = 0;
    for (const double bound : bounds) {
        sum += bound * bound;
    }
    return std::sqrt(sum);
}

double cost_of_blocks(const Shape &shape, uint32_t blocks, const KernelRates &rates) {
    const double moved = static_cast<double>(shape.nbytes) * (1 + read_per_byte(shape)) / 2;
    return rates.start + std::max(moved / rates.bytes, blocks * rates.per_block);
}

// Two sectors of each run are stored in parts, if it begins anywhere.
double cost_of_rows(const Shape &shape, uint32_t blocks) {
    constexpr KernelRates kRates = {2, 1.85e6, 4.5e-3};
    constexpr double kPerRun = 1.7e-4;
    uint64_t begins = shape.dst;
    for (int32_t i = 1; i < shape.ndim; ++i) {
        begins |= static_cast<uint64_t>(shape.axes[i].dst_step);
    }
    const double runs = static_cast<double>(shape.nbytes) / static_cast<double>(shape.run);
    const double parts = begins % kSectorBytes == 0 ? 0 : runs * kPerRun;
    return std::max(cost_of_blocks(shape, blocks, kRates), kRates.start + parts);
}

// A warp asks for lines, and what it has not used of their sectors may still be in a cache when others come to it.
double cost_of_elements(const Shape &shape) {
    constexpr double kStart = 3.8;
    constexpr double kLine = 2.1e-6;     // that a warp asks for
    constexpr double kNear = 5.3e-6;     // a sector of the elements that a multiprocessor copies at a time
    constexpr double kFar = 3.8e-6;      // a sector of the elements that the whole GPU copies at a time
    constexpr double kSector = 9.1e-6;   // of dst
    constexpr double kElement = 1.6e-6;  // and a fifth more for each axis
    const double count = static_cast<double>(shape.nbytes) / shape.element;
    return kStart + combine({count * touched_per_element(shape, 32, kLineBytes) * kLine,
                             static_cast<double>(shape.nbytes) / kSectorBytes * kSector +
                                 count * touched_per_element(shape, 4096, kSectorBytes) * kNear,
                             count * touched_per_element(shape, 65536, kSectorBytes) * kFar,
                             count * kElement * (1 + shape.ndim / 5.0)});
}

namespace {

// Returns how many bytes are adjacent in dst.
int64_t adjacent_in_dst(const Shape &shape) {
    int64_t adjacent = shape.element;
    for (int32_t i = 0; i < shape.ndim && shape.axes[i].dst_step == adjacent; ++i) {
        adjacent *= shape.axes[i].extent;
    }
    return adjacent;
}

// Returns the bytes that a kernel stores at once: what a warp has, or the run of a tile.
int64_t bytes_of_store(const Shape &shape, const KernelPlan &plan) {
    switch (plan.route) {
        case KernelRoute::Elements:
            return std::min(adjacent_in_dst(shape), kElementsOfWarp * shape.element);
        case KernelRoute::Rows:
            return shape.run;
        default:
            return std::clamp(plan.tile[0] * plan.element, int64_t{1}, adjacent_in_dst(shape));
    }
}

// Returns how many stores the ends of a run take, of a sector each. Boxes store them by warps, other kernels of
// sixteens element by element.
double stores_of_ends(const KernelPlan &plan) {
    switch (plan.route) {
        case KernelRoute::Elements:
            return 0;
        case KernelRoute::Box:
            return 1;
        default:
            return plan.word > plan.element ? static_cast<double>(plan.word) / plan.element : 0;
    }
}

}  // namespace

double cost_where_stored(const Shape &shape, const KernelPlan &plan) {
    constexpr double kHeader = 4;
    if (shape.place == DstPlace::Own) {
        return plan.cost;
    }
    const auto run = static_cast<double>(bytes_of_store(shape, plan));
    const double headers = run < kLineBytes ? kHeader : 0;
    const double ends = stores_of_ends(plan) * kSectorBytes;
    return std::max(plan.cost, static_cast<double>(shape.nbytes) * (1 + (headers + ends) / run) / kPeerBytes);
}

}  // namespace via::cuda
