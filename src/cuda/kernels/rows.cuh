// Runs that are adjacent in dst, whose elements are written by the aligned word, wherever each run begins: adjacent in
// src as well, or a step apart there.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"
#include "cuda/kernels/width.cuh"

namespace via::kernels {

template <class Width>
struct RowsParams {
    struct Axis {
        Divisor<typename Width::Index> extent;
        int64_t dst_step;  // bytes
        int64_t src_step;
    };
    uint64_t dst;
    uint64_t src;
    Extent extent;     // of src
    uint64_t run;      // elements
    int64_t src_step;  // from one to the next, bytes
    typename Width::Index count;  // words of all rows
    Divisor<typename Width::Index> words;  // of a row, wherever it begins
    int32_t ndim;
    Axis axes[Width::kAxes];
};

template <class Width>
struct RowsPlace {
    uint64_t dst;  // of the row
    uint64_t src;
    uint64_t word;  // of the row
};

template <class Width>
VIA_DEVICE RowsPlace<Width> row_of(const RowsParams<Width> &params, typename Width::Index index) {
    RowsPlace<Width> place{params.dst, params.src, take_digit(&index, params.words)};
    for (int32_t i = 0; i < params.ndim; ++i) {
        const auto at = static_cast<int64_t>(take_digit(&index, params.axes[i].extent));
        place.dst += static_cast<uint64_t>(at * params.axes[i].dst_step);
        place.src += static_cast<uint64_t>(at * params.axes[i].src_step);
    }
    return place;
}

// Bytes, 16 at once.
template <class Width>
struct Rows {
    using Params = RowsParams<Width>;
    using Index = typename Width::Index;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kWord = 16;
    static constexpr uint32_t kPerThread = 2;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;

    VIA_DEVICE static void store(const Params &params, uint64_t address, uint64_t first, const Words<16> &words) {
        if (first < params.run && first + kWord <= params.run) {
            store_global(address, words);
            return;
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            store_near<1>(address + 4 * i, first + 4 * i, params.run, words.at[i]);
        }
    }

    VIA_DEVICE static void copy(const Params &params, uint32_t block, uint32_t thread) {
        const Index begin = static_cast<Index>(block) * kPerBlock + thread;
        uint64_t to[kPerThread];
        uint64_t first[kPerThread];
        Words<16> words[kPerThread];
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const Index index = begin + i * kThreads;
            if (index < params.count) {
                const RowsPlace<Width> place = row_of(params, index);
                const uint64_t past = place.dst & (kWord - 1);
                first[i] = place.word * kWord - past;
                to[i] = place.dst + first[i];
                words[i] = load_loose_16(params.extent, place.src + first[i]);
            }
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            if (begin + i * kThreads < params.count) {
                store(params, to[i], first[i], words[i]);
            }
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { copy(params, block, thread); });
    }
};

// Elements of one or two bytes, a step apart in src.
template <int kElement, class Width>
struct Strips {
    using Params = RowsParams<Width>;
    using Index = typename Width::Index;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kWord = 4;
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr uint32_t kPerThread = 4;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;

    VIA_DEVICE static uint32_t gather(const Params &params, uint64_t src, uint64_t first) {
        uint32_t word = 0;
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            if (first + i < params.run) {
                const uint64_t from = src + static_cast<uint64_t>(static_cast<int64_t>(first + i) * params.src_step);
                word |= static_cast<uint32_t>(load_global<Word<kElement>>(from)) << (8 * kElement * i);
            }
        }
        return word;
    }

    VIA_DEVICE static void copy(const Params &params, uint32_t block, uint32_t thread) {
        const Index begin = static_cast<Index>(block) * kPerBlock + thread;
        uint64_t to[kPerThread];
        uint64_t first[kPerThread];
        uint32_t words[kPerThread];
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const Index index = begin + i * kThreads;
            if (index < params.count) {
                const RowsPlace<Width> place = row_of(params, index);
                const uint64_t past = place.dst & (kWord - 1);
                first[i] = place.word * kPerWord - past / kElement;
                to[i] = place.dst - past + place.word * kWord;
                words[i] = gather(params, place.src, first[i]);
            }
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            if (begin + i * kThreads < params.count) {
                store_near<kElement>(to[i], first[i], params.run, words[i]);
            }
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { copy(params, block, thread); });
    }
};

}  // namespace via::kernels
