// Transposes elements that are adjacent along one index in dst, a, and along another in src, b. Tiles go through shared
// memory, so that both sides are moved by sixteen bytes. Either index may run over several axes, if its own side is
// adjacent along all of them.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

// ------------------------------------------------------------------------------------------------ registers

// Transposes four words of four bytes each: byte i of word k becomes byte k of word i.
VIA_DEVICE void transpose_bytes(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d) {
    const uint32_t ab_low = permute_bytes(a, b, 0x5140);   // a0 b0 a1 b1
    const uint32_t cd_low = permute_bytes(c, d, 0x5140);   // c0 d0 c1 d1
    const uint32_t ab_high = permute_bytes(a, b, 0x7362);  // a2 b2 a3 b3
    const uint32_t cd_high = permute_bytes(c, d, 0x7362);
    a = permute_bytes(ab_low, cd_low, 0x5410);  // a0 b0 c0 d0
    b = permute_bytes(ab_low, cd_low, 0x7632);
    c = permute_bytes(ab_high, cd_high, 0x5410);
    d = permute_bytes(ab_high, cd_high, 0x7632);
}

VIA_DEVICE void transpose_halves(uint32_t &a, uint32_t &b) {
    const uint32_t low = permute_bytes(a, b, 0x5410);
    b = permute_bytes(a, b, 0x7632);
    a = low;
}

// Transposes the squares within 4-byte words, each in its place.
template <int kElement, int kRows>
VIA_DEVICE void transpose_small(Words<16> (&rows)[kRows]) {
    VIA_UNROLL
    for (int j = 0; j < 4; ++j) {
        if constexpr (kElement == 1) {
            VIA_UNROLL
            for (int i = 0; i < kRows; i += 4) {
                transpose_bytes(rows[i].at[j], rows[i + 1].at[j], rows[i + 2].at[j], rows[i + 3].at[j]);
            }
        } else if constexpr (kElement == 2) {
            VIA_UNROLL
            for (int i = 0; i < kRows; i += 2) {
                transpose_halves(rows[i].at[j], rows[i + 1].at[j]);
            }
        }
    }
}

// Returns element `number` of each of the rows, after transpose_small.
template <int kElement, int kRows>
VIA_DEVICE Words<kRows * kElement> column_of(const Words<16> (&rows)[kRows], int number) {
    constexpr int kWords = kElement > 4 ? kElement / 4 : 1;  // 4-byte words of an element
    constexpr int kSmall = kElement < 4 ? 4 / kElement : 1;  // rows of a square within a word
    Words<kRows * kElement> column;
    VIA_UNROLL
    for (int i = 0; i < kRows * kElement / 4; ++i) {
        column.at[i] = rows[i / kWords * kSmall + number % kSmall].at[number / kSmall * kWords + i % kWords];
    }
    return column;
}

// ------------------------------------------------------------------------------------------------ tiles

struct TileParams {
    static constexpr int32_t kRunAxes = 6;
    static constexpr int32_t kOuterAxes = 10;
    // An axis of a or b. The step is that of the other side, in bytes.
    struct RunAxis {
        Divisor<uint32_t> extent;
        int64_t step;
    };
    struct Run {
        uint32_t count;  // elements
        int32_t ndim;
        Divisor<uint32_t> tiles;
        RunAxis axes[kRunAxes];  // the first is adjacent, the last takes what is left
    };
    uint64_t dst;
    uint64_t src;
    Extent extent;              // of src
    Divisor<uint32_t> a_words;  // sixteens of a tile along a
    Divisor<uint32_t> b_words;  // and along b
    int32_t outer_ndim;
    Run a;
    Run b;
    OuterAxis outer[kOuterAxes];
};

// Transposes one tile. Loose: runs of either side may begin and end anywhere. Otherwise each begins at a multiple of
// sixteen bytes, and has whole sixteens. A tile is made of squares, whose rows and columns are sixteens. A thread
// transposes one or more squares, or one of kParts of its rows: half a square of bytes takes half the registers.
template <int kElement, bool kLoose, uint32_t kBlockThreads, uint32_t kSquares, uint32_t kParts>
struct Tile {
    using Params = TileParams;
    static constexpr uint32_t kThreads = kBlockThreads;
    static constexpr uint32_t kLeastBlocks = kLoose ? 768 / kThreads : 0;
    static constexpr uint32_t kPerWord = 16 / kElement;
    static constexpr uint32_t kRows = kPerWord / kParts;  // that a thread has of a square
    static constexpr uint32_t kSquaresPerBlock = kThreads * kSquares / kParts;
    static constexpr uint32_t kMostListedA = 512;  // elements of a tile along a and b, if they run over several axes
    static constexpr uint32_t kMostListedB = 256;
    static constexpr uint32_t kLongRow = 8;  // sixteens of rows whose pitch is odd

    // A loose tile begins this much earlier along a. Each of its rows in dst then begins with a whole sixteen, or a
    // whole sector of 32 bytes. Small elements fill few sixteens: for them it is cheaper if two tiles write a part of a
    // sector each.
    static constexpr uint32_t kEarlier = kLoose ? (kElement < 4 ? 1 : 2) : 0;  // sixteens
    static constexpr uint32_t kWhole = 16 * kEarlier;

    // A row of a tile is its sixteens along a, for one b. The pitch of longer rows is odd: threads that write one
    // sixteen to each of many rows use different banks, and so do those that read a row.
    struct Shared {
        Words<16> words[kPerWord * (kSquaresPerBlock + (kSquaresPerBlock / kLongRow))];
        int64_t a_src[kMostListedA];
        int64_t b_dst[kMostListedB];
    };

    // Values that all threads of a block share. Indices before the run's beginning are below 0.
    struct Place {
        uint64_t dst;
        uint64_t src;
        uint32_t a_first;  // that the tile is named after
        uint32_t a_begin;  // that it holds
        uint32_t b_begin;
        uint32_t pitch;  // sixteens
    };

    VIA_DEVICE static uint32_t stored_words(const Params &params) { return params.a_words.divisor - kEarlier; }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block) {
        Place place;
        place.dst = params.dst;
        place.src = params.src;
        place.a_first = take_digit(&block, params.a.tiles) * stored_words(params) * kPerWord;
        place.a_begin = place.a_first - kEarlier * kPerWord;
        place.b_begin = take_digit(&block, params.b.tiles) * params.b_words.divisor * kPerWord;
        place.pitch = params.a_words.divisor | (params.a_words.divisor < kLongRow ? 0 : 1);
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            const auto at = static_cast<int64_t>(take_digit(&block, params.outer[i].extent));
            place.dst += static_cast<uint64_t>(at * params.outer[i].dst_step);
            place.src += static_cast<uint64_t>(at * params.outer[i].src_step);
        }
        return place;
    }

    VIA_DEVICE static int64_t offset_of(const Params::Run &run, uint32_t index) {
        int64_t offset = 0;
        const int32_t last = run.ndim - 1;
        for (int32_t i = 0; i < last; ++i) {
            offset += static_cast<int64_t>(take_digit(&index, run.axes[i].extent)) * run.axes[i].step;
        }
        return offset + static_cast<int64_t>(index) * run.axes[last].step;
    }

    // Lists the offsets of a run over several axes. Those of one axis are computed when needed.
    VIA_DEVICE static void list_offsets(const Params::Run &run, uint32_t begin, uint32_t count, int64_t *list,
                                        uint32_t thread) {
        if (run.ndim == 1) {
            return;
        }
        for (uint32_t i = thread; i < count; i += kThreads) {
            list[i] = begin + i < run.count ? offset_of(run, begin + i) : 0;
        }
    }

    VIA_DEVICE static uint64_t offset_at(const Params::Run &run, uint32_t begin, uint32_t i, const int64_t *list) {
        return static_cast<uint64_t>(run.ndim == 1 ? static_cast<int64_t>(begin + i) * run.axes[0].step : list[i]);
    }

    // Finds the address of a sixteen of a row of the tile. Wants nothing outside of the runs or the tile.
    VIA_DEVICE static LooseLoad load_at(const Params &params, const Place &place, const Shared &shared, uint64_t src,
                                        uint32_t row, bool there) {
        const bool wanted = there && place.a_begin + row < params.a.count;
        return {src + offset_at(params.a, place.a_begin, there ? row : 0, shared.a_src), wanted};
    }

    VIA_DEVICE static void load_part(const Params &params, const Place &place, const Shared &shared, uint32_t part,
                                     Words<16> (&words)[kRows]) {
        const uint32_t b = place.b_begin + take_digit(&part, params.b_words) * kPerWord;
        const bool there = part < params.a_words.divisor * kParts && b < params.b.count;
        const uint32_t row = part * kRows;
        const uint64_t src = place.src + uint64_t{b} * kElement;
        if constexpr (kLoose) {
            // Loads as many at once as registers allow.
            constexpr uint32_t kAtOnce = kRows < 4 ? kRows : 4;
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; i += kAtOnce) {
                LooseLoad loads[kAtOnce];
                VIA_UNROLL
                for (uint32_t k = 0; k < kAtOnce; ++k) {
                    loads[k] = load_at(params, place, shared, src, row + i + k, there);
                }
                load_loose<kElement>(params.extent, loads, words + i);
            }
        } else {
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                const LooseLoad load = load_at(params, place, shared, src, row + i, there);
                words[i] = load.wanted ? load_global<Words<16>>(load.address) : Words<16>{};
            }
        }
    }

    VIA_DEVICE static void put_part(const Params &params, const Place &place, Shared &shared, uint32_t part,
                                    Words<16> (&words)[kRows]) {
        using Column = Words<16 / kParts>;
        const uint32_t b_word = take_digit(&part, params.b_words);
        if (part >= params.a_words.divisor * kParts) {
            return;
        }
        auto *columns = reinterpret_cast<Column *>(shared.words) + b_word * place.pitch * kParts + part;
        transpose_small<kElement>(words);
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            columns[i * params.b_words.divisor * place.pitch * kParts] = column_of<kElement>(words, i);
        }
    }

    // Issues all loads before the first is used.
    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        Words<16> words[kSquares][kRows];
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            load_part(params, place, shared, thread + i * kThreads, words[i]);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            put_part(params, place, shared, thread + i * kThreads, words[i]);
        }
    }

    VIA_DEVICE static void store_loose(const Params &params, const Place &place, const Words<16> *row, uint64_t to,
                                       uint32_t word) {
        const uint32_t early = static_cast<uint32_t>(to & (kWhole - 1));
        const uint32_t past = (kWhole - early) & 15;
        const Words<16> *from = row + word + (kWhole - early) / 16;
        const uint32_t first = place.a_first - early / kElement + word * kPerWord;
        const Words<16> words = cut_out<kElement>(from[0], from[past != 0 ? 1 : 0], past);
        store_near<kElement>(to - early + word * 16, first, params.a.count, words);
    }

    VIA_DEVICE static void store_one(const Params &params, const Place &place, const Shared &shared, uint32_t number) {
        const uint32_t word = take_digit(&number, params.a_words);
        const uint32_t b = number;
        if (b >= params.b_words.divisor * kPerWord || place.b_begin + b >= params.b.count ||
            word >= stored_words(params)) {
            return;
        }
        const uint32_t slot = b % kPerWord * params.b_words.divisor + b / kPerWord;
        const Words<16> *row = shared.words + slot * place.pitch;
        const uint64_t to = place.dst + offset_at(params.b, place.b_begin, b, shared.b_dst) +
                            static_cast<uint64_t>(static_cast<int64_t>(place.a_first) * kElement);
        if constexpr (kLoose) {
            store_loose(params, place, row, to, word);
        } else if (place.a_first + word * kPerWord < params.a.count) {
            store_global(to + word * 16, row[word]);
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        VIA_UNROLL_BY(4)
        for (uint32_t i = 0; i < kSquares * kRows; ++i) {
            store_one(params, place, shared, thread + i * kThreads);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const Place place = place_of(params, block);
        if (params.a.ndim > 1 || params.b.ndim > 1) {
            threads.each([&](uint32_t thread) {
                list_offsets(params.a, place.a_begin, kPerWord * params.a_words.divisor, shared.a_src, thread);
                list_offsets(params.b, place.b_begin, kPerWord * params.b_words.divisor, shared.b_dst, thread);
            });
            threads.wait();
        }
        threads.each([&](uint32_t thread) { load(params, place, shared, thread); });
        threads.wait();
        threads.each([&](uint32_t thread) { store(params, place, shared, thread); });
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of an element.
#define VIA_TILE_KERNELS(KERNEL)                       \
    KERNEL(via_tile_1, Tile<1, false, 256, 1, 2>)      \
    KERNEL(via_tile_2, Tile<2, false, 256, 1, 1>)      \
    KERNEL(via_tile_4, Tile<4, false, 256, 1, 1>)      \
    KERNEL(via_tile_8, Tile<8, false, 256, 2, 1>)      \
    KERNEL(via_tile_16, Tile<16, false, 256, 4, 1>)    \
    KERNEL(via_tile_loose_1, Tile<1, true, 256, 1, 2>) \
    KERNEL(via_tile_loose_2, Tile<2, true, 256, 1, 2>) \
    KERNEL(via_tile_loose_4, Tile<4, true, 128, 1, 1>) \
    KERNEL(via_tile_loose_8, Tile<8, true, 256, 1, 1>)
