// Runs of elements that are adjacent in both arrays, wherever each begins: written by the aligned sixteen bytes.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

template <class Width>
struct RowsParams {
    uint64_t dst;
    uint64_t src;
    Extent extent;                         // of src
    uint64_t run;                          // elements
    typename Width::Index count;           // sixteens of all rows
    Divisor<typename Width::Index> words;  // of a row, wherever it begins
    int32_t ndim;
    LoopAxis<typename Width::Index> axes[Width::kAxes];
};

template <int kElement, class Width>
struct Rows {
    using Params = RowsParams<Width>;
    using Index = typename Width::Index;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kPerThread = 2;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;

    // A sixteen of dst: where it is, and the number of its first element in its row.
    struct Place {
        uint64_t dst;
        uint64_t first;
    };

    VIA_DEVICE static LooseLoad find(const Params &params, Index index, Place *place) {
        const uint64_t word = take_digit(&index, params.words);
        uint64_t dst = params.dst;
        uint64_t src = params.src;
        for (int32_t i = 0; i < params.ndim; ++i) {
            const auto at = static_cast<int64_t>(take_digit(&index, params.axes[i].extent));
            dst += static_cast<uint64_t>(at * params.axes[i].dst_step);
            src += static_cast<uint64_t>(at * params.axes[i].src_step);
        }
        const uint64_t offset = word * 16 - (dst & 15);
        *place = {dst + offset, static_cast<uint64_t>(static_cast<int64_t>(offset) / kElement)};
        return {src + offset, true};
    }

    VIA_DEVICE static void copy(const Params &params, uint32_t block, uint32_t thread) {
        const Index begin = static_cast<Index>(block) * kPerBlock + thread;
        Place places[kPerThread];
        LooseLoad loads[kPerThread];
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const Index index = begin + i * kThreads;
            loads[i] = index < params.count ? find(params, index, &places[i]) : LooseLoad{0, false};
        }
        Words<16> words[kPerThread];
        load_loose<kElement>(params.extent, loads, words);
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            if (begin + i * kThreads < params.count) {
                store_near<kElement>(places[i].dst, places[i].first, params.run, words[i]);
            }
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { copy(params, block, thread); });
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes that every run begins at a multiple of.
#define VIA_ROWS_KERNELS(KERNEL)           \
    KERNEL(via_rows_1, Rows<1, Narrow>)    \
    KERNEL(via_rows_4, Rows<4, Narrow>)    \
    KERNEL(via_rows_wide_1, Rows<1, Wide>) \
    KERNEL(via_rows_wide_4, Rows<4, Wide>)
