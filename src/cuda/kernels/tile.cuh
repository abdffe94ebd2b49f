// Transposes elements that are adjacent along one index in dst, a, and along another in src, b. Tiles go through shared
// memory, so that both sides are moved by sixteen bytes. Either index may run over several axes, if its own side is
// adjacent along all of them. Between neighbouring bytes in src there may be a few others: loose tiles load these too,
// and do not store them.
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
    // Of loose tiles:
    Divisor<uint32_t> stored_words;  // sixteens that a tile stores of each of its rows
    Divisor<uint32_t> a_inner;       // indices of a for each of its last axis
    Divisor<uint32_t> joined;        // elements of a row, if those of a tile follow one another in dst; else 0
    uint32_t b_rows;                 // indices of b in a tile
    uint32_t b_pitch;                // bytes of src for each of them, if elements are bytes
    int64_t a_low;                   // the lowest and the highest offset in src
    int64_t a_high;                  // of those
    int32_t outer_ndim;
    Run a;
    Run b;
    OuterAxis outer[kOuterAxes];
};

// Transposes one tile. Loose: runs of either side may begin and end anywhere. Otherwise each begins at a multiple of
// sixteen bytes, and has whole sixteens. A tile is made of squares, whose rows and columns are sixteens. A thread
// transposes one or more squares, or one of kParts of its rows: half a square of bytes takes half the registers.
//
// kAtOnce rows are loaded at once. Each takes the registers of two sixteens where tiles are loose, and a multiprocessor
// runs the fewer threads. Copies that are small, or whose elements are, take the time of their instructions, which many
// threads hide best. Large ones take that of the memory, and want more bytes on their way. kResident threads are to run
// on a multiprocessor at once.
template <int kElement, bool kLoose, uint32_t kBlockThreads, uint32_t kSquares, uint32_t kParts,
          uint32_t kAtOnce = 16 / kElement / kParts, uint32_t kResident = 0>
struct Tile {
    using Params = TileParams;
    static constexpr uint32_t kThreads = kBlockThreads;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static constexpr uint32_t kLeastBlocks = (kResident < 768 ? kResident : 768) / kThreads;
#else
    static constexpr uint32_t kLeastBlocks = kResident / kThreads;
#endif
    static constexpr uint32_t kPerWord = 16 / kElement;
    static constexpr uint32_t kRows = kPerWord / kParts;  // that a thread has of a square
    static constexpr uint32_t kSquaresPerBlock = kThreads * kSquares / kParts;
    static constexpr uint32_t kMostListedA = 512;  // elements of a tile along a and b, if they run over several axes
    static constexpr uint32_t kMostListedB = 256;
    static constexpr uint32_t kLongRow = 8;  // sixteens of rows whose pitch is odd

    // Bytes may lie a few bytes from one another in src. Boxes take longer, which find each by itself; with larger
    // elements they do not.
    static constexpr bool kHasPitch = kLoose && kElement == 1;

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
        bool inside;     // all that a loose tile loads is known to be of the source
    };

    VIA_DEVICE static uint32_t stored_words(const Params &params) { return params.a_words.divisor - kEarlier; }

    // Returns the elements of src along b before an index.
    VIA_DEVICE static uint32_t place_along_b(const Params &params, uint32_t b) {
        return kHasPitch ? b * params.b_pitch : b;
    }

    VIA_DEVICE static uint32_t most_rows(const Params &params) {
        return kHasPitch ? params.b_rows : params.b_words.divisor * kPerWord;
    }

    // Returns the rows that the tile has in dst.
    VIA_DEVICE static uint32_t rows_of(const Params &params, const Place &place) {
        const uint32_t most = most_rows(params);
        const uint32_t left = params.b.count - place.b_begin;
        return left < most ? left : most;
    }

    // Takes the inner axes of a as whole ones.
    VIA_DEVICE static bool is_inside(const Params &params, const Place &place) {
        const uint32_t end = place.a_begin + params.a_words.divisor * kPerWord;
        const uint32_t first = static_cast<int32_t>(place.a_begin) < 0 ? 0 : place.a_begin;
        const uint32_t last = (end < params.a.count ? end : params.a.count) - 1;
        const int64_t step = params.a.axes[params.a.ndim - 1].step;
        const int64_t from = static_cast<int64_t>(divide(first, params.a_inner)) * step;
        const int64_t to = static_cast<int64_t>(divide(last, params.a_inner)) * step;
        const int64_t low = params.a_low + (from < to ? from : to) - 15;
        const uint32_t last_b = place_along_b(params, rows_of(params, place)) - 1;
        const int64_t high = params.a_high + (from < to ? to : from) + last_b / kPerWord * 16 + 32;
        const uint64_t begin =
            place.src + uint64_t{place_along_b(params, place.b_begin)} * kElement + static_cast<uint64_t>(low);
        return holds(params.extent, begin, static_cast<uint64_t>(high - low));
    }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block) {
        Place place;
        place.dst = params.dst;
        place.src = params.src;
        place.a_first = take_digit(&block, params.a.tiles) * stored_words(params) * kPerWord;
        place.a_begin = place.a_first - kEarlier * kPerWord;
        place.b_begin = take_digit(&block, params.b.tiles) * most_rows(params);
        place.pitch = params.a_words.divisor | (params.a_words.divisor < kLongRow ? 0 : 1);
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            const auto at = static_cast<int64_t>(take_digit(&block, params.outer[i].extent));
            place.dst += static_cast<uint64_t>(at * params.outer[i].dst_step);
            place.src += static_cast<uint64_t>(at * params.outer[i].src_step);
        }
        place.inside = kLoose && kRows > 2 && is_inside(params, place);  // fewer look at each of their loads
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

    // Finds the addresses of neighbouring rows, of those that the tile does not hold too.
    VIA_DEVICE static void find_rows(const Params &params, const Place &place, const Shared &shared, uint64_t src,
                                     uint32_t row, uint64_t (&addresses)[kRows]) {
        if (params.a.ndim == 1) {
            const auto step = static_cast<uint64_t>(params.a.axes[0].step);
            const auto index = static_cast<int64_t>(static_cast<int32_t>(place.a_begin + row));
            const uint64_t first = src + static_cast<uint64_t>(index) * step;
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                addresses[i] = first + i * step;
            }
        } else {
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                addresses[i] = src + static_cast<uint64_t>(shared.a_src[row + i]);
            }
        }
    }

    VIA_DEVICE static void load_part(const Params &params, const Place &place, const Shared &shared, uint32_t part,
                                     Words<16> (&words)[kRows]) {
        const uint32_t b = place_along_b(params, place.b_begin) + take_digit(&part, params.b_words) * kPerWord;
        const bool there = part < params.a_words.divisor * kParts && b < place_along_b(params, params.b.count);
        const uint32_t row = there ? part * kRows : 0;
        uint64_t addresses[kRows];
        find_rows(params, place, shared, place.src + uint64_t{b} * kElement, row, addresses);
        VIA_UNROLL
        for (uint32_t i = 0; i < kRows; i += kAtOnce) {
            LooseLoad loads[kAtOnce];
            VIA_UNROLL
            for (uint32_t k = 0; k < kAtOnce; ++k) {
                loads[k] = {addresses[i + k], there && place.a_begin + row + i + k < params.a.count};
            }
            if constexpr (kLoose) {
                load_loose<kElement>(params.extent, loads, words + i, place.inside);
            } else {
                VIA_UNROLL
                for (uint32_t k = 0; k < kAtOnce; ++k) {
                    words[i + k] = loads[k].wanted ? load_global<Words<16>>(loads[k].address) : Words<16>{};
                }
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

    VIA_DEVICE static const Words<16> *row_of(const Params &params, const Place &place, const Shared &shared,
                                              uint32_t b) {
        const uint32_t at = place_along_b(params, b);
        return shared.words + (at % kPerWord * params.b_words.divisor + at / kPerWord) * place.pitch;
    }

    VIA_DEVICE static uint64_t address_of(const Params &params, const Place &place, const Shared &shared, uint32_t b) {
        return place.dst + offset_at(params.b, place.b_begin, b, shared.b_dst) + uint64_t{place.a_first} * kElement;
    }

    // ------------------------------------------------------------------------------------------------ aligned

    VIA_DEVICE static void store_aligned(const Params &params, const Place &place, const Shared &shared,
                                         uint32_t number) {
        const uint32_t word = take_digit(&number, params.a_words);
        if (number < rows_of(params, place) && place.a_first + word * kPerWord < params.a.count) {
            store_global(address_of(params, place, shared, number) + word * 16,
                         row_of(params, place, shared, number)[word]);
        }
    }

    // ------------------------------------------------------------------------------------------------ loose

    // A row in dst, from the whole sector that it begins in.
    struct LooseRow {
        uint64_t address;
        uint32_t first;  // of its elements, below 0 if the sector begins before the run
        uint32_t past;   // of a sixteen in shared memory
        const Words<16> *from;

        VIA_DEVICE Words<16> word(uint32_t number) const {
            return cut_out<kElement>(from[number], from[number + (past != 0 ? 1 : 0)], past);
        }
    };

    VIA_DEVICE static LooseRow loose_row(const Params &params, const Place &place, const Shared &shared, uint32_t b) {
        const uint64_t to = address_of(params, place, shared, b);
        const uint32_t early = static_cast<uint32_t>(to & (kWhole - 1));
        return {to - early, place.a_first - early / kElement, (kWhole - early) & 15,
                row_of(params, place, shared, b) + (kWhole - early) / 16};
    }

    // Stores whole sixteens: each thread the same one of every so many rows. Stores parts too where these are at most
    // three elements.
    VIA_DEVICE static void store_whole(const Params &params, const Place &place, const Shared &shared,
                                       uint32_t thread) {
        const uint32_t rows = rows_of(params, place);
        const uint32_t rows_at_once = kThreads / params.stored_words.divisor;
        uint32_t b = thread;
        const uint32_t word = take_digit(&b, params.stored_words);
        const uint32_t end = b < rows_at_once ? rows : 0;
        VIA_UNROLL_BY(2)
        for (; b < end; b += rows_at_once) {
            const LooseRow row = loose_row(params, place, shared, b);
            const uint32_t first = row.first + word * kPerWord;
            if constexpr (kElement >= 4) {
                store_near<kElement>(row.address + word * 16, first, params.a.count, row.word(word));
            } else if (first < params.a.count && first + kPerWord <= params.a.count) {
                store_global(row.address + word * 16, row.word(word));
            }
        }
    }

    // Stores the sixteens that runs begin or end in. They are few, but take long: among the others, a warp would wait
    // for them each time.
    VIA_DEVICE static void store_ends(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        const uint32_t rows = rows_of(params, place);
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < 2 * rows; i += kThreads) {
            const bool at_end = i >= rows;
            const LooseRow row = loose_row(params, place, shared, at_end ? i - rows : i);
            const uint32_t before = static_cast<int32_t>(row.first) < 0 ? 0 - row.first : 0;
            const uint32_t upto = at_end ? params.a.count - row.first : before;
            const uint32_t word = upto / kPerWord;
            const bool begun = at_end && before % kPerWord != 0 && word == before / kPerWord;
            if (upto % kPerWord != 0 && word < stored_words(params) && !begun) {
                store_near<kElement>(row.address + word * 16, row.first + word * kPerWord, params.a.count,
                                     row.word(word));
            }
        }
    }

    // Stores whole rows that follow one another in dst, as one run. Rows have a sixteen's elements or more, so that one
    // which begins in a row ends there or in the next.
    VIA_DEVICE static void store_joined(const Params &params, const Place &place, const Shared &shared,
                                        uint32_t thread) {
        const uint32_t rows = rows_of(params, place);
        const uint32_t count = rows * params.joined.divisor;
        const uint64_t to = address_of(params, place, shared, 0);
        const uint32_t early = static_cast<uint32_t>(to & 15) / kElement;
        const uint32_t end = kWhole + params.joined.divisor * kElement;  // of a row in shared memory
        VIA_UNROLL_BY(2)
        for (uint32_t first = thread * kPerWord - early; static_cast<int32_t>(first) < static_cast<int32_t>(count);
             first += kThreads * kPerWord) {
            const uint32_t b = static_cast<int32_t>(first) < 0 ? 0 : divide(first, params.joined);
            const uint32_t at = kWhole + (first - b * params.joined.divisor) * kElement;
            const uint32_t from = at + 16 < end ? at : end - 16;
            const Words<16> *row = row_of(params, place, shared, b);
            const Words<16> &next = row_of(params, place, shared, b + 1 < rows ? b + 1 : b)[kEarlier];
            const Words<16> part = cut_out<kElement>(row[from / 16], row[from / 16 + 1], from % 16);
            store_near<kElement>(
                to + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(first))) * kElement, first, count,
                cut_out<kElement>(part, next, at - from));
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        if (kLoose && kElement < 4 && params.joined.divisor != 0) {
            store_joined(params, place, shared, thread);
        } else if constexpr (kLoose) {
            store_whole(params, place, shared, thread);
            if (kElement < 4 &&
                (place.a_first == 0 || place.a_first + stored_words(params) * kPerWord >= params.a.count)) {
                store_ends(params, place, shared, thread);
            }
        } else {
            VIA_UNROLL_BY(4)
            for (uint32_t i = 0; i < kSquares * kRows; ++i) {
                store_aligned(params, place, shared, thread + i * kThreads);
            }
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
#define VIA_TILE_KERNELS(KERNEL)                                \
    KERNEL(via_tile_1, Tile<1, false, 256, 1, 2>)               \
    KERNEL(via_tile_2, Tile<2, false, 512, 1, 2>)               \
    KERNEL(via_tile_4, Tile<4, false, 256, 1, 1>)               \
    KERNEL(via_tile_8, Tile<8, false, 256, 2, 1>)               \
    KERNEL(via_tile_16, Tile<16, false, 256, 4, 1>)             \
    KERNEL(via_tile_loose_1, Tile<1, true, 256, 1, 4, 2, 1536>) \
    KERNEL(via_tile_loose_2, Tile<2, true, 256, 1, 2, 2, 1536>) \
    KERNEL(via_tile_loose_4, Tile<4, true, 128, 1, 1, 4, 768>)  \
    KERNEL(via_tile_small_4, Tile<4, true, 128, 1, 1, 2, 1536>) \
    KERNEL(via_tile_loose_8, Tile<8, true, 256, 1, 1, 2, 768>)
