// Estimates what kernels take: microseconds of the stream, fitted to copies of random layouts on an H200. tests/bench
// compares the estimates of all plans with what they take (bench_gpu_kernels).
#pragma once

#include <initializer_list>

#include "cuda/launch/kernel_plan_elements.hpp"

namespace via::cuda {

// Returns a little more than the longest of what goes on at the same time.
double combine(std::initializer_list<double> bounds);

// Returns what moving memory takes, next to a large copy.
double memory_share(const Shape &shape);

// A kernel that moves memory at a rate of its own, or is bound by the work of its blocks.
struct KernelRates {
    double start;      // until the first block stores
    double bytes;      // of dst per microsecond, where src has no gaps
    double per_block;  // microseconds of the whole GPU
};

double cost_of_blocks(const Shape &shape, uint32_t blocks, const KernelRates &rates);

// Of the runs that plan_rows copies.
double cost_of_rows(const Shape &shape, uint32_t blocks);

// Of the copy element by element, and across a link.
double cost_of_elements(const Shape &shape, const ElementsWalk &walk);

// Returns the bytes that cross in a microsecond if a side is on another device: NVLink between two H200s.
constexpr double link_bytes(int64_t element) { return element < 4 ? 3.15e5 : 3.5e5; }

// Returns what a kernel takes for the sectors that the far side stores, or that are loaded from it.
double cost_of_crossing(const Shape &shape, double stored, double loaded);

// Returns the cost of a plan, and across a link.
double cost_across_link(const Shape &shape, const KernelPlan &plan);

}  // namespace via::cuda
