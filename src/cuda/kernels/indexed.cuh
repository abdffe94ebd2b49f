// Copies rows by index. Lists of row numbers lie where the device reaches them, in its own memory or in pinned
// memory. A block fetches the numbers of its rows at once, checks them, and moves the rows' words.
#pragma once

#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

// A number that is out of range, in 16 bytes that are written at once. `place` is 0 if there is none, otherwise 1 plus
// the position in the list, of src_index at even ones and of dst_index at odd ones.
struct IndexFault {
    uint64_t place;
    int64_t value;
};
static_assert(sizeof(IndexFault) == 16);

struct IndexListParams {
    uint64_t at;  // 0: 0, 1, 2 ...
    int64_t step;
    int64_t extent;  // numbers are from 0 to extent - 1
    int64_t row_step;
    int32_t bytes;  // of a number: 4 or 8
};

struct IndexedParams {
    uint64_t dst;
    uint64_t src;
    IndexListParams dst_index;
    IndexListParams src_index;
    uint64_t fault;        // 0: faults are not reported
    uint64_t first_block;  // of this launch
    int64_t rows;          // of all
    int64_t words;         // of a run
    uint64_t runs;         // of a row: indices of its loops
    uint32_t block_rows;   // rows, words and runs that a block has at most
    uint32_t block_words;
    uint32_t block_runs;
    uint64_t row_blocks;  // blocks along rows and words; the rest goes along runs
    uint64_t word_blocks;
    int32_t ndim;
    LoopAxis<uint64_t> axes[62];
};
static_assert(sizeof(IndexedParams) <= 4096, "what any driver passes with a launch");

template <int kBytes>
struct Indexed {
    using Element = Word<kBytes>;
    using Params = IndexedParams;
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kPerThread = 8;  // words that are loaded before the first is stored
    static constexpr uint32_t kMostRows = 256;

    // Where rows begin. `dst` of a row that is not copied is kNone.
    struct Shared {
        uint64_t dst[kMostRows];
        uint64_t src[kMostRows];
    };
    static constexpr uint64_t kNone = 0;

    // The part of a block.
    struct Part {
        int64_t row;
        int64_t word;
        uint64_t run;
        uint32_t rows;
        uint32_t words;
        uint32_t runs;
    };

    VIA_DEVICE static uint32_t at_most(uint32_t most, uint64_t left) {
        return left < most ? static_cast<uint32_t>(left) : most;
    }

    VIA_DEVICE static Part part_of(const Params &params, uint32_t number) {
        uint64_t block = params.first_block + number;
        Part part;
        part.row = static_cast<int64_t>(block % params.row_blocks * params.block_rows);
        block /= params.row_blocks;
        part.word = static_cast<int64_t>(block % params.word_blocks * params.block_words);
        part.run = block / params.word_blocks * params.block_runs;
        part.rows = at_most(params.block_rows, static_cast<uint64_t>(params.rows - part.row));
        part.words = at_most(params.block_words, static_cast<uint64_t>(params.words - part.word));
        part.runs = at_most(params.block_runs, params.runs - part.run);
        return part;
    }

    VIA_DEVICE static int64_t number_at(const IndexListParams &list, int64_t k) {
        if (list.at == 0) {
            return k;
        }
        const uint64_t address = list.at + static_cast<uint64_t>(k * list.step);
        if (list.bytes == 4) {
            const Words<4> word = load_global<Words<4>>(address);
            return static_cast<int32_t>(word.at[0]);
        }
        const Words<8> word = load_global<Words<8>>(address);
        return static_cast<int64_t>(uint64_t{word.at[1]} << 32 | word.at[0]);
    }

    // Reports a number that is out of range.
    VIA_DEVICE static bool check(const Params &params, const IndexListParams &list, int64_t k, int64_t number,
                                 uint32_t is_dst) {
        if (number >= 0 && number < list.extent) {
            return true;
        }
        if (params.fault != 0) {
            const uint64_t place = 1 + 2 * static_cast<uint64_t>(k) + is_dst;
            const auto value = static_cast<uint64_t>(number);
            store_global(params.fault, Words<16>{{static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32),
                                                  static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)}});
        }
        return false;
    }

    VIA_DEVICE static void fetch(const Params &params, const Part &part, Shared &shared, uint32_t row) {
        const int64_t k = part.row + row;
        const int64_t to = number_at(params.dst_index, k);
        const int64_t from = number_at(params.src_index, k);
        const bool is_dst = check(params, params.dst_index, k, to, 1);
        const bool is_src = check(params, params.src_index, k, from, 0);
        shared.dst[row] = is_dst && is_src ? params.dst + static_cast<uint64_t>(to * params.dst_index.row_step) : kNone;
        shared.src[row] = params.src + static_cast<uint64_t>(from * params.src_index.row_step);
    }

    struct Place {
        uint64_t dst;
        uint64_t src;
    };

    // Finds word `item` of the block's part. Words of a run are neighbours, then rows, then runs.
    VIA_DEVICE static Place find(const Params &params, const Part &part, const Shared &shared, uint32_t item) {
        const uint32_t word = item % part.words;
        item /= part.words;
        const uint32_t row = item % part.rows;
        uint64_t run = part.run + item / part.rows;
        Place place{shared.dst[row], shared.src[row]};
        if (place.dst == kNone) {
            return place;
        }
        const uint64_t bytes = (static_cast<uint64_t>(part.word) + word) * kBytes;
        place.dst += bytes;
        place.src += bytes;
        for (int32_t i = 0; i < params.ndim; ++i) {
            move_by(params.axes[i], take_digit(&run, params.axes[i].extent), &place.dst, &place.src);
        }
        return place;
    }

    VIA_DEVICE static void copy(const Params &params, const Part &part, const Shared &shared, uint32_t thread) {
        const uint32_t items = part.words * part.rows * part.runs;
        VIA_NO_UNROLL
        for (uint32_t first = thread; first < items; first += kThreads * kPerThread) {
            uint64_t to[kPerThread];
            Element values[kPerThread];
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                to[i] = kNone;
                if (first + i * kThreads < items) {
                    const Place place = find(params, part, shared, first + i * kThreads);
                    to[i] = place.dst;
                    if (to[i] != kNone) {
                        values[i] = load_global<Element>(place.src);
                    }
                }
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                if (to[i] != kNone) {
                    store_global(to[i], values[i]);
                }
            }
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const Part part = part_of(params, block);
        threads.each([&](uint32_t thread) {
            if (thread < part.rows) {
                fetch(params, part, shared, thread);
            }
        });
        threads.wait();
        threads.each([&](uint32_t thread) { copy(params, part, shared, thread); });
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of their words.
#define VIA_INDEXED_KERNELS(KERNEL)   \
    KERNEL(via_indexed_1, Indexed<1>) \
    KERNEL(via_indexed_2, Indexed<2>) \
    KERNEL(via_indexed_4, Indexed<4>) \
    KERNEL(via_indexed_8, Indexed<8>) \
    KERNEL(via_indexed_16, Indexed<16>)
