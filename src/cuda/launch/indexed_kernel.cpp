#include "cuda/launch/indexed_kernel.hpp"

#include <algorithm>
#include <iterator>

#include "cuda/launch/module.hpp"

namespace via::cuda {
namespace {

using Kernel = kernels::Indexed<1>;

// Words that a block moves: each thread has two rounds of loads under way.
constexpr int64_t kBlockWords = int64_t{2} * Kernel::kThreads * Kernel::kPerThread;

// Returns the largest word, in bytes, that every run consists of and begins at a multiple of.
int64_t word_of(const IndexedRows &rows) {
    uint64_t all = reinterpret_cast<uint64_t>(rows.dst) | reinterpret_cast<uint64_t>(rows.src) |
                   static_cast<uint64_t>(rows.dst_step) | static_cast<uint64_t>(rows.src_step) |
                   static_cast<uint64_t>(rows.run) | 16;
    for (int32_t i = 0; i < rows.ndim; ++i) {
        all |= static_cast<uint64_t>(rows.axes[i].dst_step) | static_cast<uint64_t>(rows.axes[i].src_step);
    }
    return static_cast<int64_t>(all & (0 - all));
}

kernels::Id kernel_of(int64_t word) {
    switch (word) {
        case 1:
            return kernels::Id::via_indexed_1;
        case 2:
            return kernels::Id::via_indexed_2;
        case 4:
            return kernels::Id::via_indexed_4;
        case 8:
            return kernels::Id::via_indexed_8;
        default:
            return kernels::Id::via_indexed_16;
    }
}

kernels::IndexListParams list_of(const IndexList &list, int64_t extent, int64_t row_step) {
    return {reinterpret_cast<uint64_t>(list.at), list.step, extent, row_step, list.bytes};
}

uint64_t parts(uint64_t count, uint64_t each) { return (count + each - 1) / each; }

}  // namespace

void plan_indexed_kernel(const IndexedRows &rows, uint64_t fault, IndexedKernelPlan *out_plan) {
    const int64_t word = word_of(rows);
    kernels::IndexedParams &params = out_plan->params;
    out_plan->kernel = kernel_of(word);
    params.dst = reinterpret_cast<uint64_t>(rows.dst);
    params.src = reinterpret_cast<uint64_t>(rows.src);
    params.dst_index = list_of(rows.dst_index, rows.dst_extent, rows.dst_step);
    params.src_index = list_of(rows.src_index, rows.src_extent, rows.src_step);
    params.fault = fault;
    params.first_block = 0;
    params.rows = rows.count;
    params.words = rows.run / word;
    params.runs = static_cast<uint64_t>(rows.row_bytes / rows.run);
    params.ndim = rows.ndim;
    for (int32_t i = 0; i < rows.ndim; ++i) {
        const Axis &axis = rows.axes[i];
        params.axes[i] = {kernels::make_divisor<uint64_t>(axis.extent), axis.dst_step, axis.src_step};
    }
    const int64_t words = std::min(params.words, kBlockWords);
    const int64_t block_rows =
        std::clamp<int64_t>(kBlockWords / words, 1, std::min<int64_t>(rows.count, Kernel::kMostRows));
    const auto runs = std::clamp<uint64_t>(static_cast<uint64_t>(kBlockWords / (words * block_rows)), 1, params.runs);
    params.block_words = static_cast<uint32_t>(words);
    params.block_rows = static_cast<uint32_t>(block_rows);
    params.block_runs = static_cast<uint32_t>(runs);
    params.row_blocks = parts(static_cast<uint64_t>(rows.count), static_cast<uint64_t>(block_rows));
    params.word_blocks = parts(static_cast<uint64_t>(params.words), static_cast<uint64_t>(words));
    out_plan->blocks = params.row_blocks * params.word_blocks * parts(params.runs, runs);
}

Status launch_indexed(const IndexedRows &rows, uint64_t fault, const ResolvedStream &stream) {
    IndexedKernelPlan plan;
    plan_indexed_kernel(rows, fault, &plan);
    return launch_blocks(&plan, stream);
}

}  // namespace via::cuda
