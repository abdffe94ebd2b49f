// Elements that are adjacent along one index in dst, a, and along another in src, b: tiles go through shared memory,
// so that both sides are moved by whole words. Either index may run over several axes, as long as its own side is
// adjacent along all of them.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/micro.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct TileParams {
    static constexpr int32_t kRunAxes = 6;
    static constexpr int32_t kOuterAxes = 10;
    // One axis of a or b; the step is that of the other side, in bytes.
    struct RunAxis {
        Divisor<uint32_t> extent;
        int64_t step;
    };
    struct OuterAxis {
        Divisor<uint32_t> extent;
        int64_t dst_step;
        int64_t src_step;
    };
    struct Run {
        uint32_t count;  // elements
        int32_t ndim;
        Divisor<uint32_t> tiles;
        RunAxis axes[kRunAxes];  // the first is adjacent, the last takes what is left
    };
    uint64_t dst;
    uint64_t src;
    Extent extent;   // of src
    int32_t a_bits;  // a tile has 2^a_bits words along a, and 2^b_bits along b
    int32_t b_bits;
    int32_t outer_ndim;
    Run a;
    Run b;
    OuterAxis outer[kOuterAxes];
};

// kWord bytes are moved at once. Where that is 4, and the elements are smaller, words of dst and src may begin anywhere,
// else every run of either side is aligned to it and comes in whole words.
template <int kElement, int kWord, uint32_t kBlockThreads, uint32_t kSquares>
struct Tile {
    using Params = TileParams;
    using W = Words<kWord>;
    static constexpr uint32_t kThreads = kBlockThreads;
    static constexpr uint32_t kPerWord = kWord / kElement;
    static constexpr bool kLoose = kWord == 4 && kElement < 4;
    static constexpr uint32_t kSquaresPerBlock = kThreads * kSquares;
    static constexpr uint32_t kMostRun = 256;  // elements of a tile along either index
    static constexpr uint32_t kMostWords = kMostRun / kPerWord;

    // Row b of a tile, that is its words along a, lies at slot_of(b). The pitch of rows is odd, so that neither those
    // who write one word into each of many rows nor those who read a row are in one another's way.
    struct Shared {
        W words[kPerWord * (kSquaresPerBlock + kMostWords)];
        int64_t a_src[kMostRun];
        int64_t b_dst[kMostRun];
    };

    // What is the same for the whole block. a begins before the tile where words of dst may begin anywhere: a row takes
    // from there what makes its words whole.
    struct Place {
        uint64_t dst;
        uint64_t src;
        uint32_t a_first;
        uint32_t b_first;
        uint32_t pitch;
    };

    VIA_DEVICE static uint32_t a_words(const Params &params) { return (1U << params.a_bits) - (kLoose ? 1 : 0); }

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block) {
        Place place;
        place.dst = params.dst;
        place.src = params.src;
        place.a_first = take_digit(&block, params.a.tiles) * a_words(params) * kPerWord;
        place.b_first = take_digit(&block, params.b.tiles) * (kPerWord << params.b_bits);
        place.pitch = (1U << params.a_bits) | 1;
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

    // The index of the first element that the tile holds; counts below 0, so to say, where it comes before the run.
    VIA_DEVICE static uint32_t a_begin(const Place &place) { return place.a_first - (kLoose ? kPerWord : 0); }

    VIA_DEVICE static void list_offsets(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        for (uint32_t i = thread; i < kPerWord << params.a_bits; i += kThreads) {
            const uint32_t a = a_begin(place) + i;
            shared.a_src[i] = a < params.a.count ? offset_of(params.a, a) : 0;
        }
        for (uint32_t i = thread; i < kPerWord << params.b_bits; i += kThreads) {
            const uint32_t b = place.b_first + i;
            shared.b_dst[i] = b < params.b.count ? offset_of(params.b, b) : 0;
        }
    }

    VIA_DEVICE static W load_word(const Params &params, uint64_t address) {
        if constexpr (kLoose) {
            return W{{load_loose(params.extent, address)}};
        } else {
            return load_global<W>(address);
        }
    }

    VIA_DEVICE static void load_square(const Params &params, const Place &place, const Shared &shared, uint32_t square,
                                       W (&words)[kPerWord]) {
        const uint32_t b_word = square & ((1U << params.b_bits) - 1);
        const uint32_t a_word = square >> params.b_bits;
        const uint32_t b = place.b_first + b_word * kPerWord;
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            const uint32_t row = a_word * kPerWord + i;
            if (a_begin(place) + row < params.a.count && b < params.b.count) {
                const uint64_t from = place.src + static_cast<uint64_t>(shared.a_src[row]);
                words[i] = load_word(params, from + uint64_t{b} * kElement);
            }
        }
    }

    VIA_DEVICE static void put_square(const Params &params, const Place &place, Shared &shared, uint32_t square,
                                      W (&words)[kPerWord]) {
        const uint32_t b_word = square & ((1U << params.b_bits) - 1);
        const uint32_t a_word = square >> params.b_bits;
        turn_square<kElement>(words);
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerWord; ++i) {
            shared.words[((i << params.b_bits) + b_word) * place.pitch + a_word] = words[i];
        }
    }

    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        W words[kSquares][kPerWord];
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            load_square(params, place, shared, thread + i * kThreads, words[i]);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares; ++i) {
            put_square(params, place, shared, thread + i * kThreads, words[i]);
        }
    }

    VIA_DEVICE static void store_loose(const Params &params, const Place &place, const W *row, uint64_t to,
                                       uint32_t a_word) {
        const uint32_t past = static_cast<uint32_t>(to & 3);  // bytes of the row's first word that come before the tile
        const uint32_t word = shift_words(row[a_word].at[0], row[a_word + 1].at[0], 32 - 8 * past);
        const uint64_t address = to - past + a_word * 4;
        const uint32_t a = place.a_first + a_word * kPerWord - past / kElement;
        // Its sign is kept: a row may begin in the middle of its first word.
        const auto first = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(a)));
        store_near<kElement>(address, first, params.a.count, word);
    }

    VIA_DEVICE static void store_one(const Params &params, const Place &place, const Shared &shared, uint32_t number) {
        const uint32_t a_word = number & ((1U << params.a_bits) - 1);
        const uint32_t b = number >> params.a_bits;
        if (place.b_first + b >= params.b.count || a_word >= a_words(params)) {
            return;
        }
        const uint32_t slot = ((b % kPerWord) << params.b_bits) + b / kPerWord;
        const W *row = shared.words + slot * place.pitch;
        const uint64_t to =
            place.dst + static_cast<uint64_t>(shared.b_dst[b]) + uint64_t{place.a_first} * kElement;
        if constexpr (kLoose) {
            store_loose(params, place, row, to, a_word);
        } else if (place.a_first + a_word * kPerWord < params.a.count) {
            store_global(to + uint64_t{a_word} * kWord, row[a_word]);
        }
    }

    VIA_DEVICE static void store(const Params &params, const Place &place, const Shared &shared, uint32_t thread) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kSquares * kPerWord; ++i) {
            store_one(params, place, shared, thread + i * kThreads);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const Place place = place_of(params, block);
        threads.each([&](uint32_t thread) { list_offsets(params, place, shared, thread); });
        threads.wait();
        threads.each([&](uint32_t thread) { load(params, place, shared, thread); });
        threads.wait();
        threads.each([&](uint32_t thread) { store(params, place, shared, thread); });
    }
};

}  // namespace via::kernels
