#include "cuda/launch/indexed_kernel.hpp"

#include <algorithm>
#include <bit>

#include "core/base/rounding.hpp"
#include "core/layout/axes.hpp"
#include "cuda/launch/module.hpp"

namespace via::cuda {
namespace {

using Kernel = kernels::Indexed<1>;

// Words that a block moves: each thread has two rounds of loads under way.
constexpr int64_t kBlockWords = int64_t{2} * Kernel::kThreads * Kernel::kPerThread;

// Returns the largest word, in bytes, that every run consists of and begins at a multiple of.
int64_t word_of(const IndexedRows &rows) {
    return alignment_in(reinterpret_cast<uint64_t>(rows.dst) | reinterpret_cast<uint64_t>(rows.src) |
                        static_cast<uint64_t>(rows.dst_step) | static_cast<uint64_t>(rows.src_step) |
                        static_cast<uint64_t>(rows.run) | bits_of_steps(rows.axes, rows.ndim, &Axis::dst_step) |
                        bits_of_steps(rows.axes, rows.ndim, &Axis::src_step) | 16);
}

// Of words of 1, 2, 4, 8 and 16 bytes.
constexpr kernels::Id kKernels[] = {kernels::Id::via_indexed_1, kernels::Id::via_indexed_2, kernels::Id::via_indexed_4,
                                    kernels::Id::via_indexed_8, kernels::Id::via_indexed_16};

kernels::IndexListParams list_of(const IndexList &list, int64_t extent, int64_t row_step) {
    return {reinterpret_cast<uint64_t>(list.at), list.step, extent, row_step, list.bytes};
}

}  // namespace

void plan_indexed_kernel(const IndexedRows &rows, uint64_t fault, IndexedKernelPlan *out_plan) {
    const int64_t word = word_of(rows);
    kernels::IndexedParams &params = out_plan->params;
    out_plan->kernel = kKernels[std::countr_zero(static_cast<uint64_t>(word))];
    params.dst = reinterpret_cast<uint64_t>(rows.dst);
    params.src = reinterpret_cast<uint64_t>(rows.src);
    params.dst_index = list_of(rows.dst_index, rows.dst_extent, rows.dst_step);
    params.src_index = list_of(rows.src_index, rows.src_extent, rows.src_step);
    params.fault = fault;
    params.first_block = 0;
    params.rows = rows.count;
    params.words = rows.run / word;
    const int64_t all_runs = rows.row_bytes / rows.run;
    params.runs = static_cast<uint64_t>(all_runs);
    params.ndim = rows.ndim;
    for (int32_t i = 0; i < rows.ndim; ++i) {
        params.axes[i] = kernels::make_loop<uint64_t>(rows.axes[i]);
    }
    const int64_t words = std::min(params.words, kBlockWords);
    const int64_t block_rows =
        std::clamp<int64_t>(kBlockWords / words, 1, std::min<int64_t>(rows.count, Kernel::kMostRows));
    const int64_t runs = std::clamp<int64_t>(kBlockWords / (words * block_rows), 1, all_runs);
    params.block_words = static_cast<uint32_t>(words);
    params.block_rows = static_cast<uint32_t>(block_rows);
    params.block_runs = static_cast<uint32_t>(runs);
    params.row_blocks = static_cast<uint64_t>(divide_up(rows.count, block_rows));
    params.word_blocks = static_cast<uint64_t>(divide_up(params.words, words));
    out_plan->blocks = params.row_blocks * params.word_blocks * static_cast<uint64_t>(divide_up(all_runs, runs));
}

Status launch_indexed(const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    IndexedKernelPlan plan;
    plan_indexed_kernel(rows, fault, &plan);
    for (uint64_t &first = plan.params.first_block; first < plan.blocks;) {
        const uint64_t blocks = std::min(plan.blocks - first, kMostBlocks);
        VIA_TRY(launch(plan.kernel, static_cast<uint32_t>(blocks), &plan.params, stream));
        first += blocks;
    }
    return VIA_OK;
}

}  // namespace via::cuda
