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
    uint32_t pitch;             // sixteens from a row in shared memory to the next
    // Of loose tiles:
    uint32_t lane_bits;        // two to this power are the threads that store one row
    Divisor<uint32_t> joined;  // elements of a row, if those of a tile follow one another in dst; else 0
    uint32_t b_rows;           // indices of b in a tile
    uint32_t b_pitch;          // bytes of src for each of them, if elements are bytes
    Extent whole;              // the whole sixteens of src
    int32_t outer_ndim;
    Run a;
    Run b;
    OuterAxis outer[kOuterAxes];
};

// Transposes one tile. Loose: runs of either side may begin and end anywhere. Otherwise each begins at a multiple of
// sixteen bytes, and has whole sixteens. A tile is made of squares, whose rows and columns are sixteens. A thread
// transposes one or more squares, or one of kParts of its rows: half a square of bytes takes half the registers.
//
// A thread has all its rows on their way at once: the time of most copies is that of waiting for them. kResident
// threads are to run on a multiprocessor at once; more would leave each too few registers for that.
template <int kElement, bool kLoose, uint32_t kBlockThreads, uint32_t kSquares, uint32_t kParts, uint32_t kResident = 0>
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

    // Sixteens of the rows that hold the first, or second ... column of every square.
    static constexpr uint32_t kColumn = kSquaresPerBlock + kSquaresPerBlock / kLongRow;

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
        Words<16> words[kPerWord * kColumn];
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

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block) {
        Place place;
        place.dst = params.dst;
        place.src = params.src;
        place.a_first = take_digit(&block, params.a.tiles) * stored_words(params) * kPerWord;
        place.a_begin = place.a_first - kEarlier * kPerWord;
        place.b_begin = take_digit(&block, params.b.tiles) * most_rows(params);
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            move_by(params.outer[i], take_digit(&block, params.outer[i].extent), &place.dst, &place.src);
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

    // Returns an index of a run, or the nearest that there is: it takes less to load that one too.
    VIA_DEVICE static uint32_t nearest(const Params::Run &run, uint32_t index) {
        const uint32_t found = static_cast<int32_t>(index) < 0 ? 0 : index;
        return found < run.count ? found : run.count - 1;
    }

    // Lists the offsets of a run over several axes. Those of one axis are computed when needed.
    VIA_DEVICE static void list_offsets(const Params::Run &run, uint32_t begin, uint32_t count, int64_t *list,
                                        uint32_t thread) {
        if (run.ndim == 1) {
            return;
        }
        for (uint32_t i = thread; i < count; i += kThreads) {
            list[i] = offset_of(run, nearest(run, begin + i));
        }
    }

    // Where a square, or a part of its rows, comes from, and goes in shared memory.
    struct Part {
        bool there;
        uint32_t row;                 // the first
        uint64_t src;                 // but for the offset of a row
        Words<16 / kParts> *columns;  // the next one follows by kColumn * kParts
    };

    VIA_DEVICE static Part part_of(const Params &params, const Place &place, Shared &shared, uint32_t number) {
        const uint32_t b_word = take_digit(&number, params.b_words);
        const uint32_t b = place_along_b(params, place.b_begin) + b_word * kPerWord;
        const bool there = number < params.a_words.divisor * kParts && b < place_along_b(params, params.b.count) &&
                           (kLoose || place.a_begin + number * kRows < params.a.count);
        return {there, there ? number * kRows : 0, place.src + uint64_t{b} * kElement,
                reinterpret_cast<Words<16 / kParts> *>(shared.words) + b_word * params.pitch * kParts + number};
    }

    VIA_DEVICE static uint64_t address_in_src(const Params &params, const Place &place, const Shared &shared,
                                              const Part &part, uint32_t row) {
        if (params.a.ndim > 1) {
            return part.src + static_cast<uint64_t>(shared.a_src[part.row + row]);
        }
        const uint32_t index = place.a_begin + part.row + row;
        return part.src + static_cast<uint64_t>(static_cast<int64_t>(kLoose ? nearest(params.a, index) : index) *
                                                params.a.axes[0].step);
    }

    // Loads a row that begins anywhere, but only whole sixteens of src. No branch may come between loads. Returns
    // whether that is all of it.
    VIA_DEVICE static bool load_row(const Extent &whole, uint64_t address, Words<16> *low, Words<16> *high) {
        const uint64_t aligned = address & ~uint64_t{15};
        const bool goes_on = aligned != address;
        const bool begins = aligned - whole.low < whole.bytes;
        const bool ends = aligned - whole.low + 16 < whole.bytes;
        if (begins) {
            *low = load_global<Words<16>>(aligned);
        }
        if (goes_on && ends) {
            *high = load_global<Words<16>>(aligned + 16);
        }
        return begins && (ends || !goes_on);
    }

    // Returns a bit for each row that is not loaded whole, as it is at the edge of src.
    VIA_DEVICE static uint32_t load_part(const Params &params, const Place &place, const Shared &shared,
                                         const Part &part, Words<16> (&words)[kRows]) {
        uint64_t addresses[kRows];
        VIA_UNROLL
        for (uint32_t i = 0; i < kRows; ++i) {
            addresses[i] = address_in_src(params, place, shared, part, i);
        }
        uint32_t missed = 0;
        if constexpr (kLoose) {
            const Extent whole{params.whole.low, part.there ? params.whole.bytes : 0};
            Words<16> low[kRows];
            Words<16> high[kRows];
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                missed |= load_row(whole, addresses[i], &low[i], &high[i]) ? 0 : 1U << i;
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                words[i] = cut_out<kElement>(low[i], high[i], addresses[i] & 15);
            }
        } else {
            VIA_UNROLL
            for (uint32_t i = 0; i < kRows; ++i) {
                if (part.there) {
                    words[i] = load_global<Words<16>>(addresses[i]);
                }
            }
        }
        return missed;
    }

    // Puts the elements of a row at the edge of src one by one, those that there are.
    VIA_DEVICE static void put_edge(const Params &params, uint64_t address, const Part &part, uint32_t row) {
        Word<kElement> elements[kPerWord]{};
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            if (holds(params.extent, address + i * kElement, kElement)) {
                elements[i] = load_global<Word<kElement>>(address + i * kElement);
            }
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            reinterpret_cast<Word<kElement> *>(part.columns + i * kColumn * kParts)[row] = elements[i];
        }
    }

    VIA_DEVICE static void put_part(const Params &params, const Place &place, const Shared &shared, const Part &part,
                                    uint32_t missed, Words<16> (&words)[kRows]) {
        if (!part.there) {
            return;
        }
        transpose_small<kElement>(words);
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            part.columns[i * kColumn * kParts] = column_of<kElement>(words, i);
        }
        VIA_NO_UNROLL
        for (uint32_t i = 0; missed != 0; ++i, missed >>= 1) {
            if ((missed & 1) != 0) {
                put_edge(params, address_in_src(params, place, shared, part, i), part, i);
            }
        }
    }

    // Issues all loads before the first is used.
    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        Words<16> words[kSquares][kRows];
        Part parts[kSquares];
        uint32_t missed[kSquares];
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            parts[i] = part_of(params, place, shared, thread + i * kThreads);
            missed[i] = load_part(params, place, shared, parts[i], words[i]);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            put_part(params, place, shared, parts[i], missed[i], words[i]);
        }
    }

    VIA_DEVICE static const Words<16> *row_of(const Params &params, const Shared &shared, uint32_t b) {
        const uint32_t at = place_along_b(params, b);
        return shared.words + at % kPerWord * kColumn + at / kPerWord * params.pitch;
    }

    VIA_DEVICE static uint64_t address_of(const Params &params, const Place &place, const Shared &shared, uint32_t b) {
        const int64_t offset =
            params.b.ndim > 1 ? shared.b_dst[b] : static_cast<int64_t>(place.b_begin + b) * params.b.axes[0].step;
        return place.dst + static_cast<uint64_t>(offset) + uint64_t{place.a_first} * kElement;
    }

    // ------------------------------------------------------------------------------------------------ aligned

    VIA_DEVICE static void store_aligned(const Params &params, const Place &place, const Shared &shared,
                                         uint32_t number) {
        const uint32_t word = take_digit(&number, params.a_words);
        if (number < rows_of(params, place) && place.a_first + word * kPerWord < params.a.count) {
            store_global(address_of(params, place, shared, number) + word * 16, row_of(params, shared, number)[word]);
        }
    }

    // ------------------------------------------------------------------------------------------------ loose

    // A row in dst, from the whole sector that it begins in.
    struct LooseRow {
        uint64_t address;
        uint32_t first;  // of its elements, below 0 if the sector begins before the run
        uint32_t past;   // of a sixteen in shared memory
        const Words<16> *from;

        VIA_DEVICE Words<16> word(uint32_t number) const { return cut_at<kElement>(from + number, past); }
    };

    VIA_DEVICE static LooseRow loose_row(const Params &params, const Place &place, const Shared &shared, uint32_t b) {
        const uint64_t to = address_of(params, place, shared, b);
        const uint32_t early = static_cast<uint32_t>(to & (kWhole - 1));
        return {to - early, place.a_first - early / kElement, (kWhole - early) & 15,
                row_of(params, shared, b) + (kWhole - early) / 16};
    }

    // Stores whole sixteens: some threads together those of a row, and others those of other rows. Stores parts too
    // where these are at most three elements.
    VIA_DEVICE static void store_whole(const Params &params, const Place &place, const Shared &shared,
                                       uint32_t thread) {
        const uint32_t rows = rows_of(params, place);
        const uint32_t lanes = 1U << params.lane_bits;
        for (uint32_t b = thread >> params.lane_bits; b < rows; b += kThreads >> params.lane_bits) {
            const LooseRow row = loose_row(params, place, shared, b);
            for (uint32_t word = thread & (lanes - 1); word < stored_words(params); word += lanes) {
                const uint32_t first = row.first + word * kPerWord;
                if constexpr (kElement >= 4) {
                    store_near<kElement>(row.address + word * 16, first, params.a.count, row.word(word));
                } else if (first < params.a.count && first + kPerWord <= params.a.count) {
                    store_global(row.address + word * 16, row.word(word));
                }
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
            const Words<16> *row = row_of(params, shared, b);
            const Words<16> &next = row_of(params, shared, b + 1 < rows ? b + 1 : b)[kEarlier];
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
#define VIA_TILE_KERNELS(KERNEL)                             \
    KERNEL(via_tile_1, Tile<1, false, 256, 1, 2, 1536>)      \
    KERNEL(via_tile_2, Tile<2, false, 512, 1, 2>)            \
    KERNEL(via_tile_4, Tile<4, false, 256, 1, 1>)            \
    KERNEL(via_tile_8, Tile<8, false, 256, 2, 1>)            \
    KERNEL(via_tile_16, Tile<16, false, 256, 4, 1>)          \
    KERNEL(via_tile_loose_1, Tile<1, true, 256, 1, 4, 1024>) \
    KERNEL(via_tile_loose_2, Tile<2, true, 256, 1, 2, 1024>) \
    KERNEL(via_tile_loose_4, Tile<4, true, 128, 1, 1, 1024>) \
    KERNEL(via_tile_loose_8, Tile<8, true, 128, 1, 1, 1536>)
