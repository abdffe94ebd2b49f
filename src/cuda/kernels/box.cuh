// Copies tiles of any layout through shared memory: reads runs of src, and writes runs of dst.
//
// How it works. core/layout/tiles.hpp defines a tile: the product of the axes that are fast in src and of those that
// are fast in dst. A block loads the runs of src into shared memory as they are in global memory, gaps included, by
// whole sixteens. An address in shared memory is congruent to its address in global memory, modulo sixteen. The planner
// chooses distances of runs in shared memory that are congruent to those in global memory. A place in shared memory is
// therefore a sum of what each index adds. All runs of dst in a tile list the same elements. One table has the places
// of the elements of a run (columns). Another one has the places of the runs (rows). A thread stores
// data[column + row]. The tables serve every tile of a block. The last tile along a cut axis has fewer columns or rows;
// the missing ones are the last of the list.
//
// A sector of dst that is stored in parts is read from memory first, for its error correction. The words of a run are
// therefore counted from the beginning of a sector. Where runs are cut, a tile leaves the elements behind the last
// sector that it has whole to the next tile, which begins to load early enough to have them too.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct BoxParams {
    static constexpr int32_t kListAxes = 8;
    static constexpr int32_t kDigits = 16;
    // An axis of a list, with what one index adds.
    struct ListAxis {
        Divisor<uint32_t> extent;  // within a whole tile
        int32_t step;              // elements, on the side that the list is about
        int32_t place;             // bytes in shared memory
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
        int64_t src_step;
        uint32_t along;     // bytes that each index adds to a run of src
        uint32_t backward;  // the same, if src goes backwards along it; else 0
    };
    // A digit of a tile's number. It counts indices of an axis of the loop, or parts of an axis that is cut.
    struct Digit {
        Divisor<uint32_t> extent;
        uint32_t unit;  // indices of the cut axis that each adds
        int32_t cut;    // number of that axis among `cuts`; 2 for none
        int64_t dst_step;
        int64_t src_step;
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
    List columns;       // elements of a run of dst
    List dst_rows;      // runs of dst
    List src_rows;      // runs of src
    uint32_t span;      // bytes of a run of src, with one index of the axes that are cut
    uint32_t backward;  // bytes from its lowest address to its first element, likewise
    uint32_t owned;     // columns from one tile's beginning to the next one's, whole sectors; 0 if none is shared
    int32_t owned_cut;  // number of the axis that the runs of dst are cut along
    Share loading;      // sixteens of runs of src, wherever they begin
    Share storing;      // words of runs of dst, from their first sector on
    bool dense;         // runs of dst have no gaps
    bool level;         // and begin equally far behind a sector, as far as a thread stores them
    uint32_t tiles;
    uint32_t blocks;
    int32_t digit_count;
    Digit digits[kDigits];
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
    static constexpr uint32_t kWord = kElement < 4 ? 4 : kElement;  // stored at once
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr uint32_t kSector = 32 / kElement;  // elements
    static constexpr uint32_t kBytes = 20 << 10;        // of data
    static constexpr uint32_t kMostColumns = 2560;      // half of that if runs of dst have gaps
    static constexpr uint32_t kMostRows = 192;          // of either side

    // A tile: its beginning, and the length of its lists.
    struct Place {
        uint64_t dst;
        uint64_t src;  // the lowest address of its first run
        uint32_t columns;
        uint32_t dst_rows;
        uint32_t src_rows;
        uint32_t span;
        uint32_t first;  // where its first element is in shared memory
        uint32_t words;  // of a run of dst
        int32_t anchor;  // the column in whose sector
        int32_t before;  // or this many columns before it, the words begin
        bool inside;     // whole sixteens of every run are of the source
    };

    // The beginning of a run: elements from the tile's beginning in global memory, and bytes in data.
    struct alignas(8) RunBegin {
        int32_t offset;
        int32_t place;
    };

    struct Shared {
        Words<16> data[kBytes / 16];
        int16_t column_places[kMostColumns];  // where runs have gaps, then as many steps in dst, in bytes
        RunBegin dst_rows[kMostRows];
        RunBegin src_rows[kMostRows];
        Place places[2];  // of a tile, and of the next one
    };

    // ------------------------------------------------------------------------------------------------- places

    VIA_DEVICE static uint32_t round_up(uint32_t elements) { return (elements + kSector - 1) & ~(kSector - 1); }

    VIA_DEVICE static uint32_t there_of(const Params::List &list, const uint32_t (&there)[2]) {
        return list.unit != 0 ? list.unit * (list.cut == 0 ? there[0] : there[1]) : list.count;
    }

    VIA_DEVICE static bool is_inside(const Params &params, const Place &place, const uint32_t (&there)[2]) {
        const Params::List &rows = params.src_rows;
        const bool first = rows.cut == 0;
        const int64_t step = rows.unit == 0 ? 0 : first ? params.cuts[0].src_step : params.cuts[1].src_step;
        const int64_t reach = step * static_cast<int64_t>((first ? there[0] : there[1]) - 1);
        const int64_t low = params.rows_low + (reach < 0 ? reach : 0) - 15;
        const int64_t high = params.rows_high + (reach > 0 ? reach : 0) + place.span + 15;
        return holds(params.extent, place.src + static_cast<uint64_t>(low), static_cast<uint64_t>(high - low));
    }

    // Of a run that begins and ends in the tile the words begin with the sector of the first element. A run that goes
    // on ends with the last sector that is whole. One that has begun earlier begins where the previous tile ended.
    VIA_DEVICE static void set_words(const Params &params, bool begins, bool ends, Place &place) {
        const uint32_t shared = params.columns.count - params.owned;  // with the next tile
        const uint32_t stored = ends ? place.columns - (begins ? 0 : shared) : place.columns;
        const uint32_t words = begins || ends ? round_up(stored + kSector - 1) : params.owned;
        place.anchor = static_cast<int32_t>(!ends ? place.columns : begins ? 0 : shared);
        place.before = static_cast<int32_t>(ends ? 0 : words);
        place.words = params.dense ? words / kPerWord : place.columns;
    }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t tile) {
        Place place{params.dst, params.src, 0, 0, 0, params.span, 0, 0, 0, 0, true};
        uint32_t first[2] = {0, 0};
        VIA_NO_UNROLL
        for (int32_t i = 0; i < params.digit_count; ++i) {
            const Params::Digit &digit = params.digits[i];
            const uint32_t at = take_digit(&tile, digit.extent);
            move_by(digit, at, &place.dst, &place.src);
            VIA_UNROLL
            for (int32_t k = 0; k < 2; ++k) {
                first[k] += digit.cut == k ? at * digit.unit : 0;
            }
        }
        uint32_t backward = params.backward;
        uint32_t there[2];
        VIA_UNROLL
        for (int32_t i = 0; i < 2; ++i) {
            const Params::Cut &cut = params.cuts[i];
            there[i] = cut.count - first[i] < cut.tile ? cut.count - first[i] : cut.tile;
            place.span += (there[i] - 1) * cut.along;
            backward += (there[i] - 1) * cut.backward;
        }
        place.src -= backward;
        place.first = static_cast<uint32_t>(place.src & 15) + backward;
        place.columns = there_of(params.columns, there);
        place.dst_rows = there_of(params.dst_rows, there);
        place.src_rows = there_of(params.src_rows, there);
        place.inside = is_inside(params, place, there);
        const bool of_first = params.owned_cut == 0;
        const bool begins = params.owned == 0 || (of_first ? first[0] : first[1]) == 0;
        const bool ends = params.owned == 0 || (of_first ? first[0] + there[0] == params.cuts[0].count
                                                         : first[1] + there[1] == params.cuts[1].count);
        set_words(params, begins, ends, place);
        return place;
    }

    // ------------------------------------------------------------------------------------------------- tables

    VIA_DEVICE static RunBegin begin_of(const Params::List &list, uint32_t index) {
        RunBegin begin{0, 0};
        VIA_NO_UNROLL
        for (int32_t i = 0; i < list.ndim; ++i) {
            const auto at = static_cast<int32_t>(take_digit(&index, list.axes[i].extent));
            begin.offset += at * list.axes[i].step;
            begin.place += at * list.axes[i].place;
        }
        return begin;
    }

    VIA_DEVICE static void fill_tables(const Params &params, Shared &shared, uint32_t thread) {
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < params.src_rows.count; i += kThreads) {
            shared.src_rows[i] = begin_of(params.src_rows, i);
        }
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < params.columns.count; i += kThreads) {
            const RunBegin begin = begin_of(params.columns, i);
            shared.column_places[i] = static_cast<int16_t>(begin.place);
            if (!params.dense) {
                shared.column_places[kMostColumns / 2 + i] = static_cast<int16_t>(begin.offset * kElement);
            }
        }
        VIA_NO_UNROLL
        for (uint32_t i = thread; i < params.dst_rows.count; i += kThreads) {
            shared.dst_rows[i] = begin_of(params.dst_rows, i);
        }
    }

    // ------------------------------------------------------------------------------------------------- loading

    VIA_DEVICE static unsigned char *data_of(Shared &shared) { return reinterpret_cast<unsigned char *>(shared.data); }
    VIA_DEVICE static const unsigned char *data_of(const Shared &shared) {
        return reinterpret_cast<const unsigned char *>(shared.data);
    }

    VIA_DEVICE static uint64_t address_of(uint64_t begin, int32_t elements) {
        return begin + static_cast<uint64_t>(static_cast<int64_t>(elements) * kElement);
    }

    // Loads a sixteen of every `rows`-th run. `kInside` says that all are of the source, as they are but in few tiles.
    template <bool kInside>
    VIA_DEVICE static void load_words(const Params &params, const Place &place, Shared &shared, uint32_t row,
                                      uint32_t at) {
        const uint64_t from = place.src + at;
        const uint32_t to = static_cast<uint32_t>(place.src & 15) + at;
        const auto least = static_cast<int32_t>(at - place.span);  // that a run begins behind a sixteen
        VIA_UNROLL_BY(kInside ? 4 : 1)
        for (; row < place.src_rows; row += params.loading.rows) {
            const RunBegin run = shared.src_rows[row];
            const uint64_t address = address_of(from, run.offset);
            if (static_cast<int32_t>(address & 15) > least) {
                unsigned char *word = data_of(shared) + ((to + static_cast<uint32_t>(run.place)) & ~15U);
                const uint64_t aligned = address & ~uint64_t{15};
                if (kInside || holds(params.extent, aligned, 16)) {
                    copy_to_shared<16>(word, aligned);
                } else {
                    *reinterpret_cast<Words<16> *>(word) = load_edge(params.extent, aligned);
                }
            }
        }
    }

    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        uint32_t row = thread;
        const uint32_t first = take_digit(&row, params.loading.threads);
        const uint32_t count = row < params.loading.rows ? params.loading.count : 0;
        VIA_NO_UNROLL
        for (uint32_t word = first; word < count; word += params.loading.threads.divisor) {
            if (place.inside) {
                load_words<true>(params, place, shared, row, word * 16);
            } else {
                load_words<false>(params, place, shared, row, word * 16);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------- storing

    VIA_DEVICE static Word<kElement> element_at(const Shared &shared, int32_t place) {
        return *reinterpret_cast<const Word<kElement> *>(data_of(shared) + place);
    }

    // What a thread stores of each of its runs: a word, counted from the beginning of a sector.
    struct Slot {
        uint32_t anchor;  // the low part of the address in whose sector the words begin, in a run of offset 0
        int32_t first;    // column of the word's first element, if that sector begins with the anchor
    };

    VIA_DEVICE static Slot slot_of(const Place &place, uint32_t word, uint32_t pack) {
        return {static_cast<uint32_t>(place.dst) + static_cast<uint32_t>(place.anchor * kElement),
                static_cast<int32_t>(word * pack) + place.anchor - place.before};
    }

    // The word of one run: kPack elements.
    template <uint32_t kPack>
    struct Piece {
        int32_t first;  // column of the first one, below 0 if the word begins before the run
        int32_t places[kPack];
        bool whole;
    };

    template <uint32_t kPack>
    VIA_DEVICE static Piece<kPack> piece_of(const Place &place, const Shared &shared, const Slot &slot,
                                            int32_t offset) {
        const uint32_t past = (slot.anchor + static_cast<uint32_t>(offset * kElement)) & 31;
        Piece<kPack> piece;
        piece.first = slot.first - static_cast<int32_t>(past / kElement);
        piece.whole =
            static_cast<int32_t>(place.columns) - piece.first >= static_cast<int32_t>(kPack) && piece.first >= 0;
        const int16_t *columns = shared.column_places + (piece.whole ? piece.first : 0);
        VIA_UNROLL
        for (uint32_t i = 0; i < kPack; ++i) {
            piece.places[i] = static_cast<int32_t>(place.first) + columns[i];
        }
        return piece;
    }

    // Puts elements together.
    template <uint32_t kPack>
    VIA_DEVICE static Word<kElement * kPack> gather(const Shared &shared, const Piece<kPack> &piece,
                                                    int32_t row_place) {
        if constexpr (kPack == 1) {
            return element_at(shared, piece.places[0] + row_place);
        } else {
            uint32_t all = 0;
            VIA_UNROLL
            for (uint32_t i = 0; i < kPack; ++i) {
                all |= static_cast<uint32_t>(element_at(shared, piece.places[i] + row_place)) << (8 * kElement * i);
            }
            return {{all}};
        }
    }

    // Stores the elements of a word that reaches beyond its run.
    template <uint32_t kPack>
    VIA_DEVICE static void store_part(const Place &place, const Shared &shared, int32_t first, const RunBegin &run) {
        VIA_UNROLL
        for (uint32_t i = 0; kPack > 1 && i < kPack; ++i) {
            const int32_t column = first + static_cast<int32_t>(i);
            if (static_cast<uint32_t>(column) < place.columns) {
                const int32_t at = static_cast<int32_t>(place.first) + shared.column_places[column] + run.place;
                store_global(address_of(place.dst, run.offset + column), element_at(shared, at));
            }
        }
    }

    // Stores the same word of every `rows`-th run.
    template <uint32_t kPack>
    VIA_DEVICE static void store_level(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                       uint32_t word) {
        if (row >= place.dst_rows) {
            return;
        }
        const Slot slot = slot_of(place, word, kPack);
        const Piece<kPack> piece = piece_of<kPack>(place, shared, slot, shared.dst_rows[row].offset);
        if (!piece.whole) {
            VIA_NO_UNROLL
            for (; kPack > 1 && row < place.dst_rows; row += params.storing.rows) {
                store_part<kPack>(place, shared, piece.first, shared.dst_rows[row]);
            }
            return;
        }
        const uint64_t dst = address_of(place.dst, piece.first);
        VIA_UNROLL_BY(4)
        for (; row < place.dst_rows; row += params.storing.rows) {
            const RunBegin run = shared.dst_rows[row];
            store_global(address_of(dst, run.offset), gather<kPack>(shared, piece, run.place));
        }
    }

    // The same where runs begin anywhere.
    template <uint32_t kPack>
    VIA_DEVICE static void store_uneven(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                        uint32_t word) {
        const Slot slot = slot_of(place, word, kPack);
        VIA_UNROLL_BY(kPack == 1 ? 4 : 2)
        for (; row < place.dst_rows; row += params.storing.rows) {
            const RunBegin run = shared.dst_rows[row];
            const Piece<kPack> piece = piece_of<kPack>(place, shared, slot, run.offset);
            if (piece.whole) {
                store_global(address_of(place.dst, run.offset + piece.first), gather<kPack>(shared, piece, run.place));
            } else {
                store_part<kPack>(place, shared, piece.first, run);
            }
        }
    }

    // The same where runs of dst have gaps: a word is an element.
    VIA_DEVICE static void store_strided(const Params &params, const Place &place, const Shared &shared, uint32_t row,
                                         uint32_t column) {
        const uint64_t dst = place.dst + static_cast<uint16_t>(shared.column_places[kMostColumns / 2 + column]);
        const int32_t from = static_cast<int32_t>(place.first) + shared.column_places[column];
        VIA_UNROLL_BY(4)
        for (; row < place.dst_rows; row += params.storing.rows) {
            const RunBegin run = shared.dst_rows[row];
            store_global(address_of(dst, run.offset), element_at(shared, from + run.place));
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        uint32_t row = thread;
        const uint32_t first = take_digit(&row, params.storing.threads);
        const uint32_t count = row < params.storing.rows ? place.words : 0;
        VIA_NO_UNROLL
        for (uint32_t word = first; word < count; word += params.storing.threads.divisor) {
            if (!params.dense) {
                store_strided(params, place, shared, row, word);
            } else if (params.level) {
                store_level<kPerWord>(params, place, shared, row, word);
            } else {
                store_uneven<kPerWord>(params, place, shared, row, word);
            }
        }
    }

    // ------------------------------------------------------------------------------------------------- blocks

    // Finds the next tile in one thread, while loads are under way.
    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) {
            if (thread == 0) {
                shared.places[0] = place_of(params, block);
            }
            fill_tables(params, shared, thread);
        });
        threads.wait();
        uint32_t current = 0;
        for (uint32_t tile = block; tile < params.tiles; tile += params.blocks) {
            const Place place = shared.places[current];
            threads.each([&](uint32_t thread) {
                load(params, place, shared, thread);
                if (thread == kThreads - 1 && tile + params.blocks < params.tiles) {
                    shared.places[current ^ 1] = place_of(params, tile + params.blocks);
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
