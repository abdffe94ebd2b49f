// Transposes a box of elements whose runs share axes, such as the channels of an image or the fields of records. Copies
// the runs of src into shared memory as they are, and gathers the runs of dst from there.
//
// A tile of the box is cut along one axis that ends the runs of both sides (channels), or along two, one for the runs
// of each side (records). Within the box the tables below are the same for every tile, so a block fills them once for
// several tiles.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct GatherParams {
    static constexpr int32_t kBoxAxes = 6;
    static constexpr int32_t kOuterAxes = 10;
    struct BoxAxis {
        Divisor<uint32_t> extent;  // within a whole tile
        int64_t step;              // bytes of the side that the list is about
        int32_t shared_step;       // bytes in shared memory
    };
    // Indices in the order of the list, the first axis fastest.
    struct List {
        uint32_t count;  // of a whole tile
        uint32_t unit;   // of them that belong to one index of the axis that is cut; 0 if that is not in the list
        int32_t ndim;
        BoxAxis axes[kBoxAxes];
    };
    // An axis that is cut: of `count` indices, `tile` at once.
    struct Cut {
        uint32_t count;
        uint32_t tile;
        Divisor<uint32_t> tiles;
        int64_t dst_step;
        int64_t src_step;
    };
    uint64_t dst;
    uint64_t src;
    Extent extent;  // of src
    Cut cuts[2];    // the one that ends the runs of dst, and the one that ends those of src
    bool same_cut;  // they are one, and the second goes nowhere
    bool backward;  // src goes back from one index of the cut to the next; `src` is where a whole tile's last one is
    List dst_run;   // elements adjacent in dst
    List dst_rows;  // the other elements: where the runs begin
    List src_rows;
    uint32_t run_begin;           // bytes in shared memory before the first element of a run of dst
    uint32_t src_unit;            // elements from one index of its cut to the next in a run of src
    uint32_t src_past;            // elements of them that belong to no index, in the gaps
    uint32_t pitch;               // bytes between src_rows in shared memory, whole sixteens
    Divisor<uint32_t> src_words;  // sixteens of a run of src
    Divisor<uint32_t> dst_words;  // words of a run of dst, wherever it begins
    uint32_t tiles;
    uint32_t tiles_per_block;
    int32_t outer_ndim;
    OuterAxis outer[kOuterAxes];
};

template <int kElement>
struct Gather {
    using Params = GatherParams;
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 4;
    static constexpr uint32_t kWord = kElement < 4 ? 4 : kElement;
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr uint32_t kBytes = 16 << 10;           // of data
    static constexpr uint32_t kMostRun = 8192 / kElement;  // elements adjacent in dst
    static constexpr uint32_t kMostRows = 128;             // runs of either side

    // The beginning of a run of dst, and the base of its elements' positions in data.
    struct alignas(16) RunBegin {
        int64_t dst;
        int64_t place;
    };

    struct Shared {
        Words<16> data[kBytes / 16];
        alignas(16) uint16_t run_place[kMostRun];  // where the elements of a run of dst lie in data
        RunBegin dst_rows[kMostRows];
        int64_t row_src[kMostRows];
    };

    // The lengths of the lists at the ends of the cut axes.
    struct Place {
        uint64_t dst;
        uint64_t src;
        uint32_t dst_run;
        uint32_t dst_rows;
        uint32_t src_bytes;
        uint32_t src_rows;
    };

    VIA_DEVICE static uint32_t there_of(const Params::List &list, uint32_t there) {
        return list.unit != 0 ? list.unit * there : list.count;
    }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t tile) {
        Place place{};
        place.dst = params.dst;
        place.src = params.src;
        uint32_t there[2];
        for (int32_t i = 0; i < 2; ++i) {
            const Params::Cut &cut = params.cuts[i];
            const uint32_t first = take_digit(&tile, cut.tiles) * cut.tile;
            there[i] = cut.count - first < cut.tile ? cut.count - first : cut.tile;
            place.dst += static_cast<uint64_t>(static_cast<int64_t>(first) * cut.dst_step);
            place.src += static_cast<uint64_t>(static_cast<int64_t>(first) * cut.src_step);
        }
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            const auto at = static_cast<int64_t>(take_digit(&tile, params.outer[i].extent));
            place.dst += static_cast<uint64_t>(at * params.outer[i].dst_step);
            place.src += static_cast<uint64_t>(at * params.outer[i].src_step);
        }
        const uint32_t of_src = params.same_cut ? there[0] : there[1];
        place.dst_run = there_of(params.dst_run, there[0]);
        place.dst_rows = there_of(params.dst_rows, of_src);
        place.src_rows = there_of(params.src_rows, there[0]);
        // Starts at the end if src goes backwards.
        place.src_bytes =
            (params.src_unit * (params.backward ? params.cuts[0].tile : of_src) - params.src_past) * kElement;
        return place;
    }

    struct Offsets {
        int64_t global;
        uint32_t shared;
    };

    VIA_DEVICE static Offsets offsets_of(const Params::List &list, uint32_t index) {
        Offsets offsets{0, 0};
        for (int32_t i = 0; i < list.ndim; ++i) {
            const uint32_t at = take_digit(&index, list.axes[i].extent);
            offsets.global += static_cast<int64_t>(at) * list.axes[i].step;
            offsets.shared += at * static_cast<uint32_t>(list.axes[i].shared_step);
        }
        return offsets;
    }

    VIA_DEVICE static void fill_tables(const Params &params, Shared &shared, uint32_t thread) {
        for (uint32_t i = thread; i < params.dst_run.count; i += kThreads) {
            shared.run_place[i] = static_cast<uint16_t>(params.run_begin + offsets_of(params.dst_run, i).shared);
        }
        for (uint32_t i = thread; i < params.dst_rows.count; i += kThreads) {
            const Offsets offsets = offsets_of(params.dst_rows, i);
            shared.dst_rows[i] = {offsets.global, offsets.shared};
        }
        for (uint32_t i = thread; i < params.src_rows.count; i += kThreads) {
            shared.row_src[i] = offsets_of(params.src_rows, i).global;
        }
    }

    template <uint32_t kAtOnce>
    VIA_DEVICE static void load_words(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        const uint32_t words = place.src_rows * params.src_words.divisor;
        for (uint32_t begin = thread; begin < words; begin += kAtOnce * kThreads) {
            LooseLoad loads[kAtOnce];
            uint32_t to[kAtOnce];
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                uint32_t row = begin + i * kThreads;
                const uint32_t word = take_digit(&row, params.src_words);
                const bool wanted = row < place.src_rows && word * 16 < place.src_bytes;
                const int64_t offset = wanted ? shared.row_src[row] : 0;
                loads[i] = {place.src + static_cast<uint64_t>(offset) + word * 16, wanted};
                to[i] = row * (params.pitch / 16) + word;
            }
            Words<16> found[kAtOnce];
            load_loose<kElement>(params.extent, loads, found);
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                if (loads[i].wanted) {
                    shared.data[to[i]] = found[i];
                }
            }
        }
    }

    // Moves as many at once as a thread has, and as registers allow.
    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        if (kElement >= 4 && place.src_rows * params.src_words.divisor > 2 * kThreads) {
            load_words<kElement == 4 ? 3 : 4>(params, place, shared, thread);
        } else {
            load_words<2>(params, place, shared, thread);
        }
    }

    // A run of dst: where it begins, and the data that the places of its elements count from.
    struct Row {
        uint64_t dst;
        const unsigned char *data;
    };

    VIA_DEVICE static Row row_of(const Place &place, const Shared &shared, uint32_t number) {
        const RunBegin begin = shared.dst_rows[number];
        const auto *data = reinterpret_cast<const unsigned char *>(shared.data);
        return {place.dst + static_cast<uint64_t>(begin.dst), data + begin.place};
    }

    VIA_DEVICE static Word<kElement> element_at(const Row &row, uint32_t place) {
        return *reinterpret_cast<const Word<kElement> *>(row.data + place);
    }

    // The places of a whole word's elements are read at once, if they begin at a multiple of that.
    VIA_DEVICE static uint32_t gather_whole(const Shared &shared, const Row &row, uint32_t first) {
        uint32_t places[kPerWord];
        if (first % kPerWord == 0) {
            const auto pairs = *reinterpret_cast<const Words<kPerWord * 2> *>(shared.run_place + first);
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerWord; ++i) {
                places[i] = pairs.at[i / 2] >> (16 * (i % 2)) & 0xFFFF;
            }
        } else {
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerWord; ++i) {
                places[i] = shared.run_place[first + i];
            }
        }
        uint32_t word = 0;
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            word |= static_cast<uint32_t>(element_at(row, places[i])) << (8 * kElement * i);
        }
        return word;
    }

    VIA_DEVICE static void store_small(const Place &place, const Shared &shared, const Row &row, uint32_t number) {
        const uint32_t past = static_cast<uint32_t>(row.dst & 3);
        const uint32_t first = number * kPerWord - past / kElement;
        const uint64_t to = row.dst - past + number * 4;
        if (first < place.dst_run && first + kPerWord <= place.dst_run) {
            store_global(to, Words<4>{{gather_whole(shared, row, first)}});
            return;
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            if (first + i < place.dst_run) {
                store_global(to + i * kElement, element_at(row, shared.run_place[first + i]));
            }
        }
    }

    // A long run, by all threads.
    VIA_DEVICE static void store_run(const Params &params, const Place &place, const Shared &shared, const Row &row,
                                     uint32_t thread) {
        VIA_UNROLL_BY(4)
        for (uint32_t number = thread; number < params.dst_words.divisor; number += kThreads) {
            if constexpr (kElement < 4) {
                store_small(place, shared, row, number);
            } else if (number < place.dst_run) {
                store_global(row.dst + number * kWord, element_at(row, shared.run_place[number]));
            }
        }
    }

    // Stores the same element of every `apart`-th run from `row` on. Reads all before it writes the first.
    VIA_DEVICE static void store_large(const Place &place, const Shared &shared, uint32_t row, uint32_t apart,
                                       uint32_t number) {
        constexpr uint32_t kAtOnce = 4;
        const uint32_t at = shared.run_place[number];
        for (; row < place.dst_rows; row += kAtOnce * apart) {
            uint64_t to[kAtOnce];
            Word<kElement> elements[kAtOnce];
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                const uint32_t next = row + i * apart;
                const Row found = row_of(place, shared, next < place.dst_rows ? next : row);
                to[i] = found.dst + number * kWord;
                elements[i] = element_at(found, at);
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                if (row + i * apart < place.dst_rows) {
                    store_global(to[i], elements[i]);
                }
            }
        }
    }

    // Stores many short runs, several at once. A thread keeps its position in a run.
    VIA_DEVICE static void store_runs(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        const uint32_t at_once = divide(kThreads, params.dst_words);
        uint32_t row = thread;
        const uint32_t number = take_digit(&row, params.dst_words);
        if (row >= at_once) {
            return;
        }
        if constexpr (kElement < 4) {
            VIA_UNROLL_BY(4)
            for (; row < place.dst_rows; row += at_once) {
                store_small(place, shared, row_of(place, shared, row), number);
            }
        } else if (number < place.dst_run) {
            store_large(place, shared, row, at_once, number);
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        if (params.dst_words.divisor < kThreads) {
            store_runs(params, place, shared, thread);
            return;
        }
        for (uint32_t i = 0; i < place.dst_rows; ++i) {
            store_run(params, place, shared, row_of(place, shared, i), thread);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { fill_tables(params, shared, thread); });
        for (uint32_t i = 0; i < params.tiles_per_block; ++i) {
            const uint32_t tile = block * params.tiles_per_block + i;
            if (tile >= params.tiles) {
                return;
            }
            const Place place = place_of(params, tile);
            threads.wait();
            threads.each([&](uint32_t thread) { load(params, place, shared, thread); });
            threads.wait();
            threads.each([&](uint32_t thread) { store(params, place, shared, thread); });
        }
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of an element.
#define VIA_GATHER_KERNELS(KERNEL)  \
    KERNEL(via_gather_1, Gather<1>) \
    KERNEL(via_gather_2, Gather<2>) \
    KERNEL(via_gather_4, Gather<4>) \
    KERNEL(via_gather_8, Gather<8>)
