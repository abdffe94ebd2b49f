// Interleaves a few channels into pixels, or splits them: the elements of a pixel are adjacent on one side, those of a
// channel on the other. A thread transposes as many pixels as sixteen bytes of a channel hold, in registers. Through
// shared memory the side of the pixels is also moved by adjacent sixteens.
#pragma once

#include "cuda/kernels/divisor.cuh"
#include "cuda/kernels/near.cuh"

namespace via::kernels {

struct ChannelsParams {
    static constexpr int32_t kOuterAxes = 10;
    uint64_t dst;
    uint64_t src;
    Extent extent;   // of src
    uint32_t count;  // pixels of a row
    uint32_t taken;  // channels; where they are split, pixels may have more
    uint32_t early;  // groups that a tile begins earlier: 0 if each row of dst begins at a multiple of sixteen bytes
    int32_t outer_ndim;
    Divisor<uint32_t> tiles;  // of a row
    int64_t channel_step;     // bytes, on the side of the channels
    OuterAxis outer[kOuterAxes];
};

// Maps the elements of a group, in bytes from its first one: as many pixels as a sixteen has elements.
template <int kElement, int kChannels, bool kJoined>
struct GroupOrder {
    static constexpr uint32_t kPerWord = 16 / kElement;

    VIA_DEVICE static constexpr uint32_t source_of(uint32_t byte) {
        const uint32_t element = byte / kElement;
        const uint32_t from = kJoined ? element % kChannels * kPerWord + element / kChannels
                                      : element % kPerWord * kChannels + element / kPerWord;
        return from * kElement + byte % kElement;
    }

    // Returns the word of a group that begins with this byte after the transpose.
    VIA_DEVICE static uint32_t word_at(const uint32_t (&words)[4 * kChannels], uint32_t byte) {
        const uint32_t a = source_of(byte);
        if constexpr (kElement >= 4) {
            return words[a / 4];
        } else if constexpr (kElement == 2) {
            const uint32_t b = source_of(byte + 2);
            return permute_bytes(words[a / 4], words[b / 4], (a % 4) * 0x11 + (b % 4) * 0x1100 + 0x5410);
        } else {
            const uint32_t b = source_of(byte + 1);
            const uint32_t c = source_of(byte + 2);
            const uint32_t d = source_of(byte + 3);
            const uint32_t low = permute_bytes(words[a / 4], words[b / 4], a % 4 + (4 + b % 4) * 0x10);
            const uint32_t high = permute_bytes(words[c / 4], words[d / 4], c % 4 + (4 + d % 4) * 0x10);
            return permute_bytes(low, high, 0x5410);
        }
    }

    VIA_DEVICE static void transpose(Words<16> (&group)[kChannels]) {
        uint32_t words[4 * kChannels];
        VIA_UNROLL
        for (uint32_t i = 0; i < 4 * kChannels; ++i) {
            words[i] = group[i / 4].at[i % 4];
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < 4 * kChannels; ++i) {
            group[i / 4].at[i % 4] = word_at(words, 4 * i);
        }
    }
};

template <int kElement, int kChannels, bool kJoined>
struct Channels {
    using Params = ChannelsParams;
    using Order = GroupOrder<kElement, kChannels, kJoined>;
    static constexpr uint32_t kThreads = 128;
    static constexpr uint32_t kLeastBlocks = 8;
    static constexpr uint32_t kPerWord = 16 / kElement;
    // A tile has a group for each thread. If rows of dst begin anywhere, it begins this many groups earlier. Each of
    // its parts then begins with a whole sector of 32 bytes.
    static constexpr uint32_t kSector = 32;
    static constexpr uint32_t kEarly = kSector / 16;

    // Sixteens that neighbouring threads read or write in one group each must not meet in a bank.
    VIA_DEVICE static constexpr uint32_t slot(uint32_t number) {
        return kChannels % 2 == 0 ? number + number / 8 : number;
    }

    struct Shared {
        Words<16> words[slot(kThreads * kChannels)];  // of the groups, one after the other
    };

    // Values that all threads of a block share. Pixels before the row's beginning have numbers below 0.
    struct Place {
        uint64_t dst;  // of the row
        uint64_t src;
        uint32_t first;   // pixel that the tile is named after
        uint32_t stored;  // groups
    };

    VIA_DEVICE static Place place_of(const Params &params, uint32_t block) {
        Place place;
        place.dst = params.dst;
        place.src = params.src;
        place.stored = kThreads - params.early;
        place.first = take_digit(&block, params.tiles) * place.stored * kPerWord;
        for (int32_t i = 0; i < params.outer_ndim; ++i) {
            move_by(params.outer[i], take_digit(&block, params.outer[i].extent), &place.dst, &place.src);
        }
        return place;
    }

    // From a row's first byte; the index may count below 0.
    VIA_DEVICE static uint64_t bytes_of(uint32_t index) {
        return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(index)) * kElement);
    }

    VIA_DEVICE static uint64_t channel(const Params &params, uint32_t number) {
        return static_cast<uint64_t>(static_cast<int64_t>(number) * params.channel_step);
    }

    // A group's sixteens out of the channels, or pixels as they come.
    VIA_DEVICE static void load(const Params &params, const Place &place, Shared &shared, uint32_t thread) {
        const uint32_t begin = place.first - params.early * kPerWord;
        LooseLoad loads[kChannels];
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            if constexpr (kJoined) {
                const uint32_t pixel = begin + thread * kPerWord;
                loads[i] = {place.src + channel(params, i) + bytes_of(pixel), pixel < params.count};
            } else {
                const uint32_t element = begin * kChannels + (thread + i * kThreads) * kPerWord;
                loads[i] = {place.src + bytes_of(element), element < params.count * kChannels};
            }
        }
        Words<16> group[kChannels];
        load_loose<kElement>(params.extent, loads, group);
        if constexpr (kJoined) {
            Order::transpose(group);
        }
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            shared.words[slot(kJoined ? thread * kChannels + i : thread + i * kThreads)] = group[i];
        }
    }

    VIA_DEVICE static void take_group(const Shared &shared, uint32_t thread, Words<16> (&group)[kChannels]) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            group[i] = shared.words[slot(thread * kChannels + i)];
        }
        Order::transpose(group);
    }

    // Replaces a group's pixels by its channels.
    VIA_DEVICE static void transpose(Shared &shared, uint32_t thread) {
        Words<16> group[kChannels];
        take_group(shared, thread, group);
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            shared.words[slot(thread * kChannels + i)] = group[i];
        }
    }

    // Stores aligned sixteen `number` of a part of a row of dst, which begins at `to` with element `first` of `count`.
    // The row's sixteens are `stride` from one another, and begin at `begin` with what precedes `to`.
    VIA_DEVICE static void store_row(const Params &params, const Shared &shared, uint64_t to, uint32_t first,
                                     uint32_t count, uint32_t begin, uint32_t stride, uint32_t number) {
        const uint32_t early = params.early != 0 ? static_cast<uint32_t>(to & (kSector - 1)) : 0;
        const uint32_t past = (kSector - early) & 15;
        const uint32_t from = begin + (number - (early + 15) / 16) * stride;
        Words<16> words = shared.words[slot(from)];
        if (past != 0) {
            words = cut_out<kElement>(words, shared.words[slot(from + stride)], past);
        }
        store_near<kElement>(to - early + number * 16, first - early / kElement + number * kPerWord, count, words);
    }

    VIA_DEVICE static void store_pixels(const Params &params, const Place &place, const Shared &shared,
                                        uint32_t thread) {
        const uint32_t first = place.first * kChannels;
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            const uint32_t number = thread + i * kThreads;
            if (number < place.stored * kChannels) {
                store_row(params, shared, place.dst + bytes_of(first), first, params.count * kChannels,
                          params.early * kChannels, 1, number);
            }
        }
    }

    VIA_DEVICE static void store_channels(const Params &params, const Place &place, const Shared &shared,
                                          uint32_t thread) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            if (i < params.taken && thread < place.stored) {
                store_row(params, shared, place.dst + channel(params, i) + bytes_of(place.first), place.first,
                          params.count, params.early * kChannels + i, kChannels, thread);
            }
        }
    }

    // Stores the tile's groups as they are.
    VIA_DEVICE static void store_groups(const Params &params, const Place &place, const Shared &shared,
                                        uint32_t thread) {
        Words<16> group[kChannels];
        take_group(shared, thread, group);
        const uint32_t first = place.first + thread * kPerWord;
        VIA_UNROLL
        for (uint32_t i = 0; i < kChannels; ++i) {
            if (i < params.taken) {
                store_near<kElement>(place.dst + channel(params, i) + bytes_of(first), first, params.count, group[i]);
            }
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const Place place = place_of(params, block);
        threads.each([&](uint32_t thread) { load(params, place, shared, thread); });
        threads.wait();
        if constexpr (kJoined) {
            threads.each([&](uint32_t thread) { store_pixels(params, place, shared, thread); });
        } else if (params.early == 0) {
            threads.each([&](uint32_t thread) { store_groups(params, place, shared, thread); });
        } else {
            threads.each([&](uint32_t thread) { transpose(shared, thread); });
            threads.wait();
            threads.each([&](uint32_t thread) { store_channels(params, place, shared, thread); });
        }
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of an element and the channels of a pixel.
#define VIA_CHANNELS_KERNELS(KERNEL)             \
    KERNEL(via_joined_1_2, Channels<1, 2, true>) \
    KERNEL(via_joined_1_3, Channels<1, 3, true>) \
    KERNEL(via_joined_1_4, Channels<1, 4, true>) \
    KERNEL(via_joined_2_2, Channels<2, 2, true>) \
    KERNEL(via_joined_2_3, Channels<2, 3, true>) \
    KERNEL(via_joined_2_4, Channels<2, 4, true>) \
    KERNEL(via_joined_4_2, Channels<4, 2, true>) \
    KERNEL(via_joined_4_3, Channels<4, 3, true>) \
    KERNEL(via_joined_4_4, Channels<4, 4, true>) \
    KERNEL(via_split_1_2, Channels<1, 2, false>) \
    KERNEL(via_split_1_3, Channels<1, 3, false>) \
    KERNEL(via_split_1_4, Channels<1, 4, false>) \
    KERNEL(via_split_2_2, Channels<2, 2, false>) \
    KERNEL(via_split_2_3, Channels<2, 3, false>) \
    KERNEL(via_split_2_4, Channels<2, 4, false>) \
    KERNEL(via_split_4_2, Channels<4, 2, false>) \
    KERNEL(via_split_4_3, Channels<4, 3, false>) \
    KERNEL(via_split_4_4, Channels<4, 4, false>)
