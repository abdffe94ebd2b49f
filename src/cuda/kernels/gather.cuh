// A box of elements whose runs share axes, as the channels of an image or the fields of records do: the runs of src are
// put into shared memory as they are, and the runs of dst gathered out of it.
//
// A tile of the box is cut along one axis that ends the runs of both sides (channels that are put together or taken
// apart), or along two, one for the runs of each side (records that are turned). Within the box the tables below are
// the same for every tile, so that a block fills them once and does several tiles.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct GatherParams {
    static constexpr int32_t kBoxAxes = 5;
    static constexpr int32_t kOuterAxes = 10;
    struct BoxAxis {
        Divisor<uint32_t> extent;  // within a whole tile
        int64_t step;              // bytes of the side that the list is about
        int32_t shared_step;       // bytes in shared memory
    };
    // Indices in the order of the list, the first axis fastest.
    struct List {
        uint32_t count;  // of a whole tile
        uint32_t unit;   // indices that belong to one index of the axis that is cut; count if it is not in the list
        int32_t ndim;
        BoxAxis axes[kBoxAxes];
    };
    struct OuterAxis {
        Divisor<uint32_t> extent;
        int64_t dst_step;
        int64_t src_step;
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
    Cut cuts[2];    // the one that ends the runs of dst, and the one that ends those of src if that is another
    bool same_cut;
    List dst_run;   // elements adjacent in dst
    List dst_rows;  // the other elements: where the runs begin
    List src_rows;
    uint32_t src_run;            // elements adjacent in src, of a whole tile
    uint32_t src_unit;           // of them that belong to one index of its cut
    uint32_t pitch;              // bytes between src_rows in shared memory
    Divisor<uint32_t> src_words;  // words of a run of src
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
    static constexpr uint32_t kWord = kElement < 4 ? 4 : kElement;
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr uint32_t kBytes = 12 << 10;                 // of elements
    static constexpr uint32_t kMostRun = kBytes / kElement;      // elements adjacent in dst
    static constexpr uint32_t kMostRows = 128;                   // runs of either side

    struct Shared {
        unsigned char data[kBytes + 132 * kMostRows / 4 + 16];
        uint16_t run_place[kMostRun];  // where the elements of a run of dst lie in data
        uint16_t row_place[kMostRows];
        int64_t row_dst[kMostRows];
        int64_t row_src[kMostRows];
    };

    struct Place {
        uint64_t dst;
        uint64_t src;
        uint32_t dst_run;  // how much of the lists there is
        uint32_t dst_rows;
        uint32_t src_run;
        uint32_t src_rows;
    };

    VIA_DEVICE static Place place_of(const Params &params, uint32_t tile) {
        Place place{params.dst, params.src, 0, 0, 0, 0};
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
        const uint32_t of_src = there[params.same_cut ? 0 : 1];
        place.dst_run = params.dst_run.unit * there[0];
        place.src_run = params.src_unit * of_src;
        place.dst_rows = params.same_cut ? params.dst_rows.count : params.dst_rows.unit * of_src;
        place.src_rows = params.same_cut ? params.src_rows.count : params.src_rows.unit * there[0];
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
            shared.run_place[i] = static_cast<uint16_t>(offsets_of(params.dst_run, i).shared);
        }
        for (uint32_t i = thread; i < params.dst_rows.count; i += kThreads) {
            const Offsets offsets = offsets_of(params.dst_rows, i);
            shared.row_dst[i] = offsets.global;
            shared.row_place[i] = static_cast<uint16_t>(offsets.shared);
        }
        for (uint32_t i = thread; i < params.src_rows.count; i += kThreads) {
            shared.row_src[i] = offsets_of(params.src_rows, i).global;
        }
    }

    VIA_DEVICE static Words<kWord> load_word(const Params &params, uint64_t address) {
        if constexpr (kElement < 4) {
            return Words<kWord>{{load_loose(params.extent, address)}};
        } else {
            return load_global<Words<kWord>>(address);
        }
    }

    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        constexpr uint32_t kAtOnce = 4;
        const uint32_t words = place.src_rows * params.src_words.divisor;
        for (uint32_t begin = thread; begin < words; begin += kAtOnce * kThreads) {
            Words<kWord> found[kAtOnce];
            uint32_t to[kAtOnce];
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                uint32_t row = begin + i * kThreads;
                const uint32_t word = take_digit(&row, params.src_words);
                to[i] = ~0U;
                if (row < place.src_rows && word * kPerWord < place.src_run) {
                    const uint64_t from = place.src + static_cast<uint64_t>(shared.row_src[row]) + word * kWord;
                    found[i] = load_word(params, from);
                    to[i] = row * params.pitch + word * kWord;
                }
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                if (to[i] != ~0U) {
                    *reinterpret_cast<Words<kWord> *>(shared.data + to[i]) = found[i];
                }
            }
        }
    }

    VIA_DEVICE static Word<kElement> element_at(const Shared &shared, uint32_t place) {
        return *reinterpret_cast<const Word<kElement> *>(shared.data + place);
    }

    // Elements from number `first` of a run on; fewer at its ends.
    VIA_DEVICE static uint32_t gather_word(const Place &place, const Shared &shared, uint32_t row, uint32_t first) {
        uint32_t word = 0;
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            if (first + i < place.dst_run) {
                const uint32_t at = row + shared.run_place[first + i];
                word |= static_cast<uint32_t>(element_at(shared, at)) << (8 * kElement * i);
            }
        }
        return word;
    }

    VIA_DEVICE static void store_one(const Params &params, const Place &place, const Shared &shared, uint32_t number) {
        const uint32_t word = take_digit(&number, params.dst_words);
        const uint64_t to = place.dst + static_cast<uint64_t>(shared.row_dst[number]);
        const uint32_t row = shared.row_place[number];
        if constexpr (kElement < 4) {
            const uint32_t past = static_cast<uint32_t>(to & 3);
            const uint32_t first = word * kPerWord - past / kElement;
            const uint32_t found = gather_word(place, shared, row, first);
            // Signs are kept: a run may begin in the middle of its first word.
            const auto wide = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(first)));
            store_near<kElement>(to - past + word * 4, wide, place.dst_run, found);
        } else if (word < place.dst_run) {
            store_global(to + word * kWord, element_at(shared, row + shared.run_place[word]));
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        const uint32_t words = place.dst_rows * params.dst_words.divisor;
        VIA_UNROLL_BY(4)
        for (uint32_t i = thread; i < words; i += kThreads) {
            store_one(params, place, shared, i);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        threads.each([&](uint32_t thread) { fill_tables(params, shared, thread); });
        threads.wait();
        for (uint32_t i = 0; i < params.tiles_per_block; ++i) {
            const uint32_t tile = block * params.tiles_per_block + i;
            if (tile >= params.tiles) {
                return;
            }
            const Place place = place_of(params, tile);
            threads.each([&](uint32_t thread) { load(params, place, shared, thread); });
            threads.wait();
            threads.each([&](uint32_t thread) { store(params, place, shared, thread); });
            threads.wait();
        }
    }
};

}  // namespace via::kernels
