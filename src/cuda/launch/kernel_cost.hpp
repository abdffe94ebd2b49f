// Estimates what kernels take: microseconds of the stream, fitted to copies of random layouts on an H200. tests/bench
// compares the estimates of all plans with what they take (bench_gpu_kernels).
#pragma once

#include <initializer_list>

#include "cuda/launch/kernel_plan_elements.hpp"

namespace via::cuda {

// Returns a little more than the longest of what goes on at the same time.
double combine(std::initializer_list<double> bounds);

// Elements on one side of a copy: so many along each of some steps.
class Region {
public:
    void add(int64_t extent, int64_t step);

    // Returns the units of so many bytes that the elements touch, if runs begin at multiples of `begins` bytes.
    double count_units(int64_t element, int64_t begins, int64_t unit) const;

private:
    struct Move {
        int64_t extent;
        int64_t step;  // the smallest first
    };

    int32_t count_ = 0;
    Move moves_[VIA_MAX_NDIM + 2];
};

// Bytes of memory that are read or written at once.
constexpr int64_t kBurstBytes = 64;

// Returns how many bytes are read for one that is wanted, because src has gaps.
double read_per_byte(const Shape &shape);

// Returns whether runs of dst of that many bytes may begin anywhere in a sector.
bool begins_anywhere(const Shape &shape, int64_t bytes);

// Returns the sectors that memory has to read before it writes them, as dst has gaps and they are stored in part.
// Caches complete those of small copies.
double filled_sectors(const Shape &shape);

constexpr double kFilledSector = 1.7e-5;

// Returns what moving memory takes, next to a large copy.
double memory_share(const Shape &shape);

// A kernel that moves memory at a rate of its own, or is bound by the work of its blocks.
struct KernelRates {
    double start;      // until the first block stores
    double bytes;      // of dst per microsecond, where neither side has gaps
    double per_block;  // microseconds of the whole GPU
    double wasted;     // a byte that is read for nothing, next to one that is read and stored
};

// Takes the bytes that are read for one that is wanted.
double cost_of_blocks(const Shape &shape, uint32_t blocks, double read, const KernelRates &rates);

// Of the copy element by element, and across a link.
double cost_of_elements(const Shape &shape, const ElementsWalk &walk);

// Returns the bytes that cross in a microsecond if a side is on another device: NVLink between two H200s.
constexpr double link_bytes(int64_t element) { return element < 4 ? 3.15e5 : 3.5e5; }

// Returns what a kernel takes for the sectors that the far side stores, or that are loaded from it.
double cost_of_crossing(const Shape &shape, double stored, double loaded);

// Returns the cost of a plan, and across a link.
double cost_across_link(const Shape &shape, const KernelPlan &plan);

}  // namespace via::cuda
