// Copies tiles of any layout through shared memory: reads runs of src, and writes runs of dst.
//
// How it works. core/layout/tiles.hpp defines a tile: the product of the axes that are fast in src and of those that
// are fast in dst. A block loads the runs of src word by word into shared memory, as they are in global memory, gaps
// included. All runs of dst in a tile list the same elements. One table has the position of each element of a run in
// shared memory (a column). Another one has the position of each run (a row). A thread stores data[column + row]. The
// tables serve every tile of a block. The last tile along a cut axis has fewer columns or rows; the missing ones are
// the last of the list.
//
// Elements of one and two bytes travel in words of four, which begin at multiples of four. A run of src may begin up to
// three bytes after the beginning of its first word. The tables include that.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct BoxParams {
    static constexpr int32_t kListAxes = 8;
    static constexpr int32_t kOuterAxes = 12;
    // An axis of a list, with the offsets that one index adds.
    struct ListAxis {
        Divisor<uint32_t> extent;  // within a whole tile
        int32_t src_runs;          // runs of src in the tile
        int32_t src_bytes;         // bytes within a run of src
        int64_t dst_step;          // bytes
        int64_t src_step;          // bytes from run to run of src
    };
    // Indices, the first axis fastest. A cut axis is the last one.
    struct List {
        uint32_t count;  // of a whole tile
        uint32_t unit;   // for each index of the cut axis; 0 if the list has none
        int32_t cut;     // number of that axis among `cuts`
        int32_t ndim;
        ListAxis axes[kListAxes];
    };
    // A cut axis: `count` indices, `tile` at once.
    struct Cut {
        uint32_t count;
        uint32_t tile;
        Divisor<uint32_t> tiles;
        int64_t dst_step;
        int64_t src_step;
        uint32_t along;     // bytes that each index adds to a run of src
        uint32_t backward;  // the same, if src goes backwards along it; else 0
    };
    // Shares the words of runs among threads: each takes words of every `rows`-th run, `threads` words from one
    // another.
    struct Share {
        uint32_t count;             // words of a run
        uint32_t rows;              // runs that the block's threads do at once
        Divisor<uint32_t> threads;  // for each run
    };
    uint64_t dst;
    uint64_t src;
    Extent extent;      // of src
    int64_t rows_low;   // the lowest and the highest offset that a run of src begins at in a tile, but for the
    int64_t rows_high;  // axis that is cut
    Cut cuts[2];
    List columns;        // elements of a run of dst
    List dst_rows;       // runs of dst
    List src_rows;       // runs of src
    uint32_t span;       // bytes of a run of src, with one index of the axes that are cut
    uint32_t backward;   // bytes from its lowest address to its first element, likewise
    uint32_t pitch;      // bytes from run to run of src in shared memory, whole words
    uint32_t skew;       // bytes more after every 32 runs, so that elements of a word fall into many banks
    Share loading;       // of runs of src, wherever they begin
    Share storing;       // of runs of dst, wherever they begin
    bool dense;          // runs of dst have no gaps
    bool aligned;        // and begin with whole words
    bool rows_are_runs;  // each run of src is in one row of dst, so that rows know where it begins
    uint32_t tiles;
    uint32_t blocks;
    int32_t outer_ndim;
    OuterAxis outer[kOuterAxes];
};

template <int kElement>
struct Box {
    using Params = BoxParams;
    static constexpr uint32_t kThreads = 256;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static constexpr uint32_t kLeastBlocks = 4;  // of 1024 threads that a multiprocessor has there
#else
    static constexpr uint32_t kLeastBlocks = 6;
#endif
    static constexpr uint32_t kWord = kElement < 4 ? 4 : kElement;
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr uint32_t kLoads = 2;                      // words of a run that a thread loads at once
    static constexpr uint32_t kStores = kElement > 1 ? 2 : 1;  // and stores
    static constexpr uint32_t kBytes = 20 << 10;               // of data
    static constexpr uint32_t kMostColumns = 512;
    static constexpr uint32_t kMostRows = 192;  // of either side

    // A tile: its beginning, and the length of its lists.
    struct Place {
        uint64_t dst;
        uint64_t src;  // the lowest address of its first run
        uint32_t columns;
        uint32_t dst_rows;
        uint32_t src_rows;
        uint32_t span;
        uint32_t backward;
        bool inside;  // whole words of every run are of the source
        bool moved;   // the tables are of a tile that began elsewhere in a word, or went backwards otherwise
    };

    // The beginning of a run: elements from the tile's beginning in global memory, and bytes in data.
    struct alignas(8) RunBegin {
        int32_t offset;
        int32_t place;
    };

    struct Shared {
        Words<16> data[kBytes / 16];
        alignas(16) uint16_t column_places[kMostColumns];
        uint16_t column_steps[kMostColumns];  // bytes in dst, where runs have gaps
        uint32_t column_fixed[kMostColumns];  // places, as pack() has them
        RunBegin dst_rows[kMostRows];
        RunBegin src_rows[kMostRows];
        uint32_t row_fixed[kMostRows];  // places of dst_rows, as pack() has them
        Place places[2];                // of a tile, and of the next one
    };

    // ------------------------------------------------------------------------------------------------- places

    // Returns the bytes from the beginning of the word that holds an address.
    VIA_DEVICE static uint32_t past_of(uint64_t address) {
        return kElement < 4 ? static_cast<uint32_t>(address & (kWord - 1)) : 0;
    }

    VIA_DEVICE static uint32_t there_of(const Params::List &list, const uint32_t (&there)[2]) {
        return list.unit != 0 ? list.unit * there[list.cut] : list.count;
    }

    VIA_DEVICE static void advance(Place &place, uint32_t by, int64_t dst_step, int64_t src_step) {
        place.dst += static_cast<uint64_t>(static_cast<int64_t>(by) * dst_step);
        place.src += static_cast<uint64_t>(static_cast<int64_t>(by) * src_step);
    }

    VIA_DEVICE static bool is_inside(const Params &params, const Place &place, const uint32_t (&there)[2]) {
        const Params::List &rows = params.src_rows;
        const int64_t step = rows.unit != 0 ? params.cuts[rows.cut].src_step : 0;
        const int64_t reach = step * static_cast<int64_t>(there[rows.cut] - 1);
        const int64_t low = params.rows_low + (reach < 0 ? reach : 0) - (kWord - 1);
        const int64_t high = params.rows_high + (reach > 0 ? reach : 0) + place.span + (kWord - 1);
        return holds(params.extent, place.src + static_cast<uint64_t>(low), static_cast<uint64_t>(high - low));
    }

    // `before`: the place that the tables are for.
    VIA_DEVICE static Place place_of(const Params &params, uint32_t tile, const Place &before) {
        Place place{params.dst, params.src, 0, 0, 0, params.span, params.backward, false, false};
        uint32_t there[2];
        VIA_UNROLL
        for (int32_t i = 0; i < 2; ++i) {
            const Params::Cut &cut = params.cuts[i];
            const uint32_t first = take_digit(&tile, cut.tiles) * cut.tile;
            there[i] = cut.count - first < cut.tile ? cut.count - first : cut.tile;
            advance(place, first, cut.dst_step, cut.src_step);
            place.span += (there[i] - 1) * cut.along;
            place.backward += (there[i] - 1) * cut.backward;
        }
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            const OuterAxis &axis = params.outer[i];
            advance(place, take_digit(&tile, axis.extent), axis.dst_step, axis.src_step);
        }
        place.src -= place.backward;
        place.columns = there_of(params.columns, there);
        place.dst_rows = there_of(params.dst_rows, there);
        place.src_rows = there_of(params.src_rows, there);
        place.inside = kElement >= 4 || is_inside(params, place, there);
        place.moved = place.backward != before.backward || past_of(place.src) != past_of(before.src);
        return place;
    }

    // ------------------------------------------------------------------------------------------------- tables

    struct Offsets {
        int64_t dst;
        int64_t src;
        uint32_t runs;
        uint32_t bytes;
    };

    VIA_DEVICE static Offsets offsets_of(const Params::List &list, uint32_t index) {
        Offsets offsets{0, 0, 0, 0};
        for (int32_t i = 0; i < list.ndim; ++i) {
            const Params::ListAxis &axis = list.axes[i];
            const uint32_t at = take_digit(&index, axis.extent);
            offsets.dst += static_cast<int64_t>(at) * axis.dst_step;
            offsets.src += static_cast<int64_t>(at) * axis.src_step;
            offsets.runs += at * static_cast<uint32_t>(axis.src_runs);
            offsets.bytes += at * static_cast<uint32_t>(axis.src_bytes);
        }
        return offsets;
    }

    VIA_DEVICE static uint32_t run_place(const Params &params, uint32_t run) {
        return run * params.pitch + run / 32 * params.skew;
    }

    // A place but for what depends on where the tile begins, and the low bits of the offset of its run of src.
    VIA_DEVICE static uint32_t pack(const Params &params, const Offsets &offsets) {
        return ((run_place(params, offsets.runs) + offsets.bytes) & 0xFFFF) | static_cast<uint32_t>(offsets.src & 15)
                                                                                  << 16;
    }

    // The place, and how far the run of src begins past a word if that counts.
    VIA_DEVICE static int32_t unpack(uint32_t fixed, uint32_t begin, bool counts) {
        const uint32_t past = kElement < 4 && counts ? ((fixed >> 16) + begin) & (kWord - 1) : 0;
        return static_cast<int16_t>(fixed & 0xFFFF) + static_cast<int32_t>(past);
    }

    VIA_DEVICE static int32_t in_elements(int64_t bytes) { return static_cast<int32_t>(bytes / kElement); }

    VIA_DEVICE static uint64_t address_of(uint64_t begin, int32_t elements) {
        return begin + static_cast<uint64_t>(static_cast<int64_t>(elements) * kElement);
    }

    VIA_DEVICE static void fill_tables(const Params &params, Shared &shared, uint32_t thread) {
        for (uint32_t i = thread; i < params.src_rows.count; i += kThreads) {
            shared.src_rows[i] = {in_elements(offsets_of(params.src_rows, i).src),
                                  static_cast<int32_t>(run_place(params, i))};
        }
        for (uint32_t i = thread; i < params.columns.count; i += kThreads) {
            const Offsets offsets = offsets_of(params.columns, i);
            shared.column_fixed[i] = pack(params, offsets);
            shared.column_steps[i] = static_cast<uint16_t>(offsets.dst);
        }
        for (uint32_t i = thread; i < params.dst_rows.count; i += kThreads) {
            const Offsets offsets = offsets_of(params.dst_rows, i);
            shared.dst_rows[i] = {in_elements(offsets.dst), 0};
            shared.row_fixed[i] = pack(params, offsets);
        }
    }

    // Updates the part of the tables that depends on the beginning of a tile.
    VIA_DEVICE static void adjust_tables(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        const uint32_t begin = past_of(place.src);
        const bool rows = params.rows_are_runs;
        for (uint32_t i = thread; i < params.columns.count; i += kThreads) {
            const int32_t at = unpack(shared.column_fixed[i], begin, !rows);
            shared.column_places[i] = static_cast<uint16_t>(at + static_cast<int32_t>(place.backward));
        }
        for (uint32_t i = thread; i < params.dst_rows.count; i += kThreads) {
            shared.dst_rows[i].place = unpack(shared.row_fixed[i], begin, rows);
        }
    }

    // ------------------------------------------------------------------------------------------------- loading

    VIA_DEVICE static unsigned char *data_of(Shared &shared) { return reinterpret_cast<unsigned char *>(shared.data); }
    VIA_DEVICE static const unsigned char *data_of(const Shared &shared) {
        return reinterpret_cast<const unsigned char *>(shared.data);
    }

    // Loads some words of every `rows`-th run.
    VIA_DEVICE static void load_words(const Params &params, const Place &place, Shared &shared, uint32_t row,
                                      uint32_t at) {
        const uint32_t step = params.loading.threads.divisor * kWord;
        VIA_UNROLL_BY(2)
        for (; row < place.src_rows; row += params.loading.rows) {
            const RunBegin run = shared.src_rows[row];
            const uint64_t begin = address_of(place.src, run.offset);
            const uint32_t past = past_of(begin);
            const uint64_t from = begin - past + at;
            unsigned char *to = data_of(shared) + (static_cast<uint32_t>(run.place) + at);
            VIA_UNROLL
            for (uint32_t i = 0; i < kLoads; ++i) {
                if (at + i * step < past + place.span) {
                    copy_to_shared<kWord>(to + i * step, from + i * step);
                }
            }
        }
    }

    // Loads byte by byte, so that nothing outside of the source is read.
    VIA_DEVICE static void load_bytes(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < place.src_rows * place.span; i += kThreads) {
            const RunBegin run = shared.src_rows[i / place.span];
            const uint64_t begin = address_of(place.src, run.offset);
            const uint32_t at = i % place.span;
            if (holds(params.extent, begin + at, 1)) {
                data_of(shared)[static_cast<uint32_t>(run.place) + past_of(begin) + at] =
                    load_global<uint8_t>(begin + at);
            }
        }
    }

    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        uint32_t row = thread;
        const uint32_t first = take_digit(&row, params.loading.threads);
        const uint32_t count = row < params.loading.rows ? params.loading.count : 0;
        if (kElement < 4 && !place.inside) {
            load_bytes(params, place, shared, thread);
            return;
        }
        VIA_NO_UNROLL
        for (uint32_t word = first; word < count; word += kLoads * params.loading.threads.divisor) {
            load_words(params, place, shared, row, word * kWord);
        }
    }

    // ------------------------------------------------------------------------------------------------- storing

    VIA_DEVICE static Word<kElement> element_at(const Shared &shared, int32_t place) {
        return *reinterpret_cast<const Word<kElement> *>(data_of(shared) + place);
    }

    // The columns of a thread: where they lie in data and in a run of dst.
    struct Columns {
        int32_t places[kStores];
        uint32_t steps[kStores];
        bool there[kStores];
    };

    VIA_DEVICE static Columns find_columns(const Params &params, const Place &place, const Shared &shared,
                                           uint32_t first) {
        Columns columns;
        VIA_UNROLL
        for (uint32_t i = 0; i < kStores; ++i) {
            const uint32_t column = first + i * params.storing.threads.divisor;
            columns.there[i] = column < place.columns;
            const uint32_t index = columns.there[i] ? column : 0;
            columns.places[i] = shared.column_places[index];
            columns.steps[i] = params.dense ? column * kElement : shared.column_steps[index];
        }
        return columns;
    }

    // Elements of several runs: all are read before the first is written.
    template <uint32_t kRuns>
    VIA_DEVICE static void store_some(const Shared &shared, const RunBegin *rows, uint32_t apart, uint64_t dst,
                                      const Columns &columns) {
        uint64_t to[kRuns];
        Word<kElement> elements[kRuns][kStores];
        VIA_UNROLL
        for (uint32_t i = 0; i < kRuns; ++i) {
            const RunBegin begin = rows[i * apart];
            to[i] = address_of(dst, begin.offset);
            VIA_UNROLL
            for (uint32_t k = 0; k < kStores; ++k) {
                elements[i][k] = element_at(shared, columns.places[k] + begin.place);
            }
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kRuns; ++i) {
            VIA_UNROLL
            for (uint32_t k = 0; k < kStores; ++k) {
                if (columns.there[k]) {
                    store_global(to[i] + columns.steps[k], elements[i][k]);
                }
            }
        }
    }

    // Stores some elements of every `rows`-th run.
    VIA_DEVICE static void store_columns(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                         uint32_t first) {
        constexpr uint32_t kRuns = kWord == 16 ? 1 : 2;
        const Columns columns = find_columns(params, place, shared, first);
        const uint32_t apart = params.storing.rows;
        VIA_NO_UNROLL
        for (; row + (kRuns - 1) * apart < place.dst_rows; row += kRuns * apart) {
            store_some<kRuns>(shared, shared.dst_rows + row, apart, place.dst, columns);
        }
        if (row < place.dst_rows) {
            store_some<1>(shared, shared.dst_rows + row, apart, place.dst, columns);
        }
    }

    // The elements of a word.
    VIA_DEVICE static Words<4> gather(const Shared &shared, const int32_t (&places)[kPerWord], int32_t row_place) {
        uint32_t all = 0;
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            all |= static_cast<uint32_t>(element_at(shared, places[i] + row_place)) << (8 * kElement * i);
        }
        return {{all}};
    }

    VIA_DEVICE static void find_places(const Shared &shared, uint32_t first, int32_t (&places)[kPerWord]) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            places[i] = shared.column_places[first + i];
        }
    }

    // Words of several runs that begin with whole words.
    template <uint32_t kCount>
    VIA_DEVICE static void store_aligned_some(const Shared &shared, const RunBegin *rows, uint32_t apart, uint64_t to,
                                              const int32_t (&places)[kPerWord]) {
        uint64_t addresses[kCount];
        Words<4> words[kCount];
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            const RunBegin begin = rows[i * apart];
            addresses[i] = address_of(to, begin.offset);
            words[i] = gather(shared, places, begin.place);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            store_global(addresses[i], words[i]);
        }
    }

    // Stores one word of every `rows`-th run, if all of it is of the run.
    VIA_DEVICE static void store_aligned(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                         uint32_t word) {
        constexpr uint32_t kAtOnce = 2;
        if (word * kPerWord + kPerWord > place.columns) {
            return;
        }
        int32_t places[kPerWord];
        find_places(shared, word * kPerWord, places);
        const uint64_t to = place.dst + word * kWord;
        const uint32_t apart = params.storing.rows;
        const uint32_t rows = place.dst_rows;
        VIA_NO_UNROLL
        for (; row + (kAtOnce - 1) * apart < rows; row += kAtOnce * apart) {
            store_aligned_some<kAtOnce>(shared, shared.dst_rows + row, apart, to, places);
        }
        if (row < rows) {
            store_aligned_some<1>(shared, shared.dst_rows + row, apart, to, places);
        }
    }

    // Stores words of runs that begin anywhere, at the alignment of memory.
    template <uint32_t kCount>
    VIA_DEVICE static void store_loose_some(const Shared &shared, const RunBegin *rows, uint32_t apart, uint64_t dst,
                                            uint32_t word, uint32_t columns) {
        uint64_t addresses[kCount];
        Words<4> words[kCount];
        bool whole[kCount];
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            const RunBegin begin = rows[i * apart];
            const uint64_t to = address_of(dst, begin.offset);
            const uint32_t past = past_of(to);
            const uint32_t first = word * kPerWord - past / kElement;
            whole[i] = first < columns && first + kPerWord <= columns;
            addresses[i] = to - past + word * kWord;
            int32_t places[kPerWord];
            find_places(shared, whole[i] ? first : 0, places);
            words[i] = gather(shared, places, begin.place);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            if (whole[i]) {
                store_global(addresses[i], words[i]);
            }
        }
    }

    VIA_DEVICE static void store_loose(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                       uint32_t word) {
        constexpr uint32_t kAtOnce = 2;
        const uint32_t apart = params.storing.rows;
        const uint32_t rows = place.dst_rows;
        const uint32_t columns = place.columns;
        const uint64_t dst = place.dst;
        VIA_NO_UNROLL
        for (; row + (kAtOnce - 1) * apart < rows; row += kAtOnce * apart) {
            store_loose_some<kAtOnce>(shared, shared.dst_rows + row, apart, dst, word, columns);
        }
        if (row < rows) {
            store_loose_some<1>(shared, shared.dst_rows + row, apart, dst, word, columns);
        }
    }

    // Stores the rest of runs in words: less than a word at either end of each.
    VIA_DEVICE static void store_ends(const Place &place, const Shared &shared, uint32_t thread) {
        constexpr uint32_t kMost = kPerWord - 1;
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < place.dst_rows * 2 * kMost; i += kThreads) {
            const RunBegin row = shared.dst_rows[i / (2 * kMost)];
            const uint32_t number = i % (2 * kMost);
            const uint64_t to = address_of(place.dst, row.offset);
            const uint32_t before = ((0 - past_of(to)) & (kWord - 1)) / kElement;
            const uint32_t head = before < place.columns ? before : place.columns;
            const uint32_t tail = (place.columns - head) % kPerWord;
            const bool is_head = number < kMost;
            const uint32_t column = is_head ? number : place.columns - 1 - (number - kMost);
            if (is_head ? number < head : number - kMost < tail) {
                store_global(to + column * kElement, element_at(shared, shared.column_places[column] + row.place));
            }
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        uint32_t row = thread;
        const uint32_t first = take_digit(&row, params.storing.threads);
        const uint32_t count = row < params.storing.rows ? params.storing.count : 0;
        const uint32_t threads = params.storing.threads.divisor;
        if constexpr (kElement < 4) {
            VIA_NO_UNROLL
            for (uint32_t word = first; word < (params.dense ? count : 0); word += threads) {
                params.aligned ? store_aligned(params, place, shared, row, word)
                               : store_loose(params, place, shared, row, word);
            }
        }
        VIA_NO_UNROLL
        for (uint32_t at = first; at < (kElement < 4 && params.dense ? 0 : count); at += kStores * threads) {
            store_columns(params, place, shared, row, at);
        }
        if constexpr (kElement < 4) {
            if (params.dense && (!params.aligned || place.columns % kPerWord != 0)) {
                store_ends(place, shared, thread);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------- blocks

    // Finds the next tile in one thread, while loads are under way.
    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) {
            if (thread == 0) {
                shared.places[0] = place_of(params, block, Place{});
                shared.places[0].moved = true;
            }
            fill_tables(params, shared, thread);
        });
        threads.wait();
        uint32_t current = 0;
        for (uint32_t tile = block; tile < params.tiles; tile += params.blocks) {
            const Place place = shared.places[current];
            threads.each([&](uint32_t thread) {
                load(params, place, shared, thread);
                if (place.moved) {
                    adjust_tables(params, place, shared, thread);
                }
                if (thread == kThreads - 1 && tile + params.blocks < params.tiles) {
                    shared.places[current ^ 1] = place_of(params, tile + params.blocks, place);
                }
            });
            threads.wait_for_copies();
            threads.each([&](uint32_t thread) { store(params, place, shared, thread); });
            threads.wait();
            current ^= 1;
        }
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of an element.
#define VIA_BOX_KERNELS(KERNEL) \
    KERNEL(via_box_1, Box<1>)   \
    KERNEL(via_box_2, Box<2>)   \
    KERNEL(via_box_4, Box<4>)   \
    KERNEL(via_box_8, Box<8>)   \
    KERNEL(via_box_16, Box<16>)
