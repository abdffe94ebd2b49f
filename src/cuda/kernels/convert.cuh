// Converts elements of any layout: adjacent ones by groups of up to 16 bytes, others by tiles.
//
// How it works. A tile is a box whose extents are powers of two. Its elements are numbered twice: in the order of src,
// in which they are loaded, and in that of dst, in which they are stored. Threads next to one another have numbers next
// to one another, so that both sides are walked along their own small steps. Every bit of a number belongs to one axis.
// It adds a step to an address, an index to the element's place in the tile, and, by exclusive or, a place in shared
// memory, where elements wait for the threads that store them. The upper bits of a number are those of a thread's own
// elements: what they add is the same for all threads. Tiles reach over the ends of axes: such elements are left out.
#pragma once

#include "cuda/kernels/convert_codec.cuh"
#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

struct ConvertParams {
    static constexpr int32_t kThreadBits = 8;
    static constexpr int32_t kMostPerThread = 16;
    static constexpr int32_t kMostNumbers = 128;
    static constexpr int32_t kDigits = 57;  // an axis that is moved along has two elements, and memory has 2^57 bytes

    // What a bit of an element's number adds.
    struct Step {
        int64_t step;    // bytes of the array
        uint32_t index;  // within the tile, a field for each axis, with a bit between fields
        uint32_t place;  // in shared memory, by exclusive or
    };
    struct Walk {
        Step threads[kThreadBits];      // bits of a thread's number
        Step elements[kMostPerThread];  // numbers of a thread's elements
    };
    // A digit of a tile's number.
    struct Digit {
        Divisor<uint32_t> tiles;
        uint32_t missing;  // indices that the last tile lacks, in the field of the axis
        int64_t dst_step;
        int64_t src_step;
    };

    uint64_t dst;
    uint64_t src;
    PlannedConversion elements;
    uint8_t dst_word;  // bytes that every element begins at a multiple of, as far as its size
    uint8_t src_word;
    bool is_adjacent;  // elements of both, in groups that begin at multiples of their size
    bool is_filled;    // every number of a whole tile is an element
    int32_t digit_count;
    uint32_t last;    // the last index of a whole tile along each axis
    uint32_t guards;  // the bits between fields
    // The axis that an affine step goes along. Without one all elements have number 0.
    uint32_t number_mask;  // its field, at bit 0
    int32_t number_shift;  // of its field
    int32_t number_digit;  // of a tile's number; -1: none
    uint32_t number_unit;  // indices of that digit
    Walk loading;
    Walk storing;
    Digit digits[kDigits];
    float scales[kMostNumbers];
    float offsets[kMostNumbers];
};
static_assert(sizeof(ConvertParams) <= 4096, "what any driver passes with a launch");

template <class Codec>
struct Convert {
    using Params = ConvertParams;
    using Pair = Codec;
    using SrcBits = typename Codec::SrcBits;
    using DstBits = typename Codec::DstBits;
    static constexpr int kSrcBytes = Codec::kSrcBytes;
    static constexpr int kDstBytes = Codec::kDstBytes;
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr uint32_t kPerThread = Codec::kPerThread;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;
    static constexpr int kWider = kSrcBytes > kDstBytes ? kSrcBytes : kDstBytes;
    static constexpr uint32_t kGroup = kWider == 1 && kPerThread < 16 ? 8 : 16 / kWider;  // loaded at once
    static_assert(kThreads == 1U << ConvertParams::kThreadBits);
    static_assert(kPerThread <= ConvertParams::kMostPerThread && kPerThread % kGroup == 0);

    struct Shared {
        Word<kDstBytes> elements[kPerBlock];
    };

    // ------------------------------------------------------------------------------------------------ one element

    // Takes the bytes of an element that begins anywhere one by one.
    template <class Bits>
    VIA_DEVICE static void load_bytes(uint64_t address, Bits *bits) {
        if constexpr (sizeof(Bits) > 8) {
            load_bytes(address, &bits->parts[0]);
            load_bytes(address + 8, &bits->parts[1]);
        } else {
            uint64_t all = 0;
            VIA_NO_UNROLL
            for (uint32_t i = 0; i < sizeof(Bits); ++i) {
                all |= static_cast<uint64_t>(load_global<uint8_t>(address + i)) << (8 * i);
            }
            *bits = static_cast<Bits>(all);
        }
    }

    template <class Bits>
    VIA_DEVICE static void store_bytes(uint64_t address, const Bits &bits) {
        if constexpr (sizeof(Bits) > 8) {
            store_bytes(address, bits.parts[0]);
            store_bytes(address + 8, bits.parts[1]);
        } else {
            VIA_NO_UNROLL
            for (uint32_t i = 0; i < sizeof(Bits); ++i) {
                store_global(address + i, static_cast<uint8_t>(static_cast<uint64_t>(bits) >> (8 * i)));
            }
        }
    }

    // Complex numbers begin at multiples of a part.
    template <class Bits>
    static constexpr int kPiece = sizeof(Bits) < 8 ? static_cast<int>(sizeof(Bits)) : 8;

    template <class Bits>
    VIA_DEVICE static void load_one(uint64_t address, uint32_t word, Bits *bits) {
        if (!Codec::is_aligned && word < kPiece<Bits>) {
            return load_bytes(address, bits);
        }
        auto *to = reinterpret_cast<unsigned char *>(bits);
        VIA_UNROLL
        for (uint32_t i = 0; i < sizeof(Bits); i += kPiece<Bits>) {
            const auto piece = load_global<Word<kPiece<Bits>>>(address + i);
            __builtin_memcpy(to + i, &piece, sizeof piece);
        }
    }

    template <class Bits>
    VIA_DEVICE static void store_one(uint64_t address, uint32_t word, const Bits &bits) {
        if (!Codec::is_aligned && word < kPiece<Bits>) {
            return store_bytes(address, bits);
        }
        const auto *from = reinterpret_cast<const unsigned char *>(&bits);
        VIA_UNROLL
        for (uint32_t i = 0; i < sizeof(Bits); i += kPiece<Bits>) {
            Word<kPiece<Bits>> piece;
            __builtin_memcpy(&piece, from + i, sizeof piece);
            store_global(address + i, piece);
        }
    }

    // ------------------------------------------------------------------------------------------------ tiles

    struct Tile {
        uint64_t dst;
        uint64_t src;
        uint32_t last;    // index along each axis
        uint32_t number;  // of its first element
        bool is_whole;
    };

    VIA_DEVICE static Tile tile_of(const Params &params, uint32_t number) {
        Tile tile{params.dst, params.src, params.last, 0, false};
        VIA_NO_UNROLL
        for (int32_t i = 0; i < params.digit_count; ++i) {
            const auto &digit = params.digits[i];
            const uint32_t at = take_digit(&number, digit.tiles);
            move_by(digit, at, &tile.dst, &tile.src);
            tile.last -= at + 1 == digit.tiles.divisor ? digit.missing : 0;
            tile.number += i == params.number_digit ? at * params.number_unit : 0;
        }
        tile.is_whole = params.is_filled && tile.last == params.last;
        return tile;
    }

    // ------------------------------------------------------------------------------------------------ adjacent

    // Of whole tiles, whose elements are numbered alike in both.
    VIA_DEVICE static uint64_t group_of(uint32_t thread, uint32_t i) {
        return (i / kGroup * kThreads + thread) * uint64_t{kGroup};
    }

    VIA_DEVICE static void load_groups(const Tile &tile, uint32_t thread, SrcBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; i += kGroup) {
            const auto group = load_global<Word<kGroup * kSrcBytes>>(tile.src + group_of(thread, i) * kSrcBytes);
            __builtin_memcpy(&bits[i], &group, sizeof group);
        }
    }

    VIA_DEVICE static void store_groups(const Tile &tile, uint32_t thread, const DstBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; i += kGroup) {
            Word<kGroup * kDstBytes> group;
            __builtin_memcpy(&group, &bits[i], sizeof group);
            store_global(tile.dst + group_of(thread, i) * kDstBytes, group);
        }
    }

    // ------------------------------------------------------------------------------------------------ one by one

    // Returns what the bits of a thread's number add.
    VIA_DEVICE static ConvertParams::Step step_of(const ConvertParams::Walk &walk, uint32_t thread) {
        ConvertParams::Step sum{0, 0, 0};
        VIA_UNROLL
        for (int32_t i = 0; i < ConvertParams::kThreadBits; ++i) {
            if ((thread >> i & 1) != 0) {
                sum.step += walk.threads[i].step;
                sum.index |= walk.threads[i].index;
                sum.place ^= walk.threads[i].place;
            }
        }
        return sum;
    }

    // No field borrows from the next one: each has its guard.
    VIA_DEVICE static bool holds(const Params &params, const Tile &tile, uint32_t index) {
        return (((tile.last | params.guards) - index) & params.guards) == params.guards;
    }

    template <bool kIsWhole>
    VIA_DEVICE static void load_elements(const Params &params, const Tile &tile, const ConvertParams::Step &thread,
                                         SrcBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const auto &element = params.loading.elements[i];
            if (kIsWhole || holds(params, tile, thread.index | element.index)) {
                load_one(tile.src + static_cast<uint64_t>(thread.step + element.step), params.src_word, &bits[i]);
            }
        }
    }

    template <bool kIsWhole>
    VIA_DEVICE static void store_elements(const Params &params, const Tile &tile, const ConvertParams::Step &thread,
                                          const DstBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const auto &element = params.storing.elements[i];
            if (kIsWhole || holds(params, tile, thread.index | element.index)) {
                store_one(tile.dst + static_cast<uint64_t>(thread.step + element.step), params.dst_word, bits[i]);
            }
        }
    }

    VIA_DEVICE static void put(const Params &params, Shared &shared, uint32_t place, const DstBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            __builtin_memcpy(&shared.elements[place ^ params.loading.elements[i].place], &bits[i], kDstBytes);
        }
    }

    VIA_DEVICE static void take(const Params &params, const Shared &shared, uint32_t place, DstBits *bits) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            __builtin_memcpy(&bits[i], &shared.elements[place ^ params.storing.elements[i].place], kDstBytes);
        }
    }

    // Returns what an element is multiplied by, and what is added. Those over the ends of axes have any.
    VIA_DEVICE static ConvertScale scale_of(const Params &params, const Tile &tile, uint32_t index) {
        const uint32_t number = tile.number + (index >> params.number_shift & params.number_mask);
        return {params.scales[number], params.offsets[number]};
    }

    // ------------------------------------------------------------------------------------------------ blocks

    // Issues all loads before the first is used. Stores whole tiles of adjacent elements, and puts others into shared
    // memory.
    VIA_DEVICE static void convert(const Params &params, const Tile &tile, Shared &shared, uint32_t thread) {
        SrcBits src[kPerThread] = {};
        DstBits dst[kPerThread] = {};
        const bool by_groups = params.is_adjacent && tile.is_whole;
        const auto step = by_groups ? ConvertParams::Step{} : step_of(params.loading, thread);
        if (by_groups) {
            load_groups(tile, thread, src);
        } else if (tile.is_whole) {
            load_elements<true>(params, tile, step, src);
        } else {
            load_elements<false>(params, tile, step, src);
        }
        swap_all<kPerThread>(src, params.elements.swap_bytes);
        Codec::convert(params.elements, src, dst, [&](uint32_t i) {
            return scale_of(params, tile, step.index | (by_groups ? 0 : params.loading.elements[i].index));
        });
        if (by_groups) {
            store_groups(tile, thread, dst);
        } else {
            put(params, shared, step.place, dst);
        }
    }

    VIA_DEVICE static void store(const Params &params, const Tile &tile, const Shared &shared, uint32_t thread) {
        DstBits dst[kPerThread];
        const auto step = step_of(params.storing, thread);
        take(params, shared, step.place, dst);
        if (tile.is_whole) {
            store_elements<true>(params, tile, step, dst);
        } else {
            store_elements<false>(params, tile, step, dst);
        }
    }

    VIA_DEVICE static void run(const Params &params, Shared &shared, uint32_t block, const Threads &threads) {
        const Tile tile = tile_of(params, block);
        threads.each([&](uint32_t thread) { convert(params, tile, shared, thread); });
        if (params.is_adjacent && tile.is_whole) {
            return;
        }
        threads.wait();
        threads.each([&](uint32_t thread) { store(params, tile, shared, thread); });
    }
};

}  // namespace via::kernels

// The kernels. Those of pairs that models and images are made of come first. Those of any pair are named after the
// bytes of source and destination; elements of 16 bytes are complex numbers that become bool, or that have no imaginary
// part.
#define VIA_CONVERT_KERNELS(KERNEL)                                                                     \
    KERNEL(via_convert_f64_f32, Convert<OnePair<ScalarKind::Float32, ScalarKind::Float64>>)             \
    KERNEL(via_convert_f32_f64, Convert<OnePair<ScalarKind::Float64, ScalarKind::Float32>>)             \
    KERNEL(via_convert_f32_f16, Convert<OnePair<ScalarKind::Float16, ScalarKind::Float32>>)             \
    KERNEL(via_convert_f16_f32, Convert<OnePair<ScalarKind::Float32, ScalarKind::Float16>>)             \
    KERNEL(via_convert_f32_bf16, Convert<OnePair<ScalarKind::BFloat16, ScalarKind::Float32>>)           \
    KERNEL(via_convert_bf16_f32, Convert<OnePair<ScalarKind::Float32, ScalarKind::BFloat16>>)           \
    KERNEL(via_convert_f16_bf16, Convert<OnePair<ScalarKind::BFloat16, ScalarKind::Float16>>)           \
    KERNEL(via_convert_bf16_f16, Convert<OnePair<ScalarKind::Float16, ScalarKind::BFloat16>>)           \
    KERNEL(via_convert_f32_f8e4m3fn, Convert<OnePair<ScalarKind::Float8E4M3FN, ScalarKind::Float32>>)   \
    KERNEL(via_convert_f32_f8e5m2, Convert<OnePair<ScalarKind::Float8E5M2, ScalarKind::Float32>>)       \
    KERNEL(via_convert_bf16_f8e4m3fn, Convert<OnePair<ScalarKind::Float8E4M3FN, ScalarKind::BFloat16>>) \
    KERNEL(via_convert_f8e4m3fn_bf16, Convert<OnePair<ScalarKind::BFloat16, ScalarKind::Float8E4M3FN>>) \
    KERNEL(via_convert_u8_f32, Convert<OnePair<ScalarKind::Float32, ScalarKind::UInt8>>)                \
    KERNEL(via_convert_u8_f16, Convert<OnePair<ScalarKind::Float16, ScalarKind::UInt8>>)                \
    KERNEL(via_convert_u8_bf16, Convert<OnePair<ScalarKind::BFloat16, ScalarKind::UInt8>>)              \
    KERNEL(via_convert_i16_f32, Convert<OnePair<ScalarKind::Float32, ScalarKind::Int16>>)               \
    KERNEL(via_convert_i64_i32, Convert<OnePair<ScalarKind::Int32, ScalarKind::Int64>>)                 \
    KERNEL(via_convert_1_1, Convert<AnyPair<1, 1>>)                                                     \
    KERNEL(via_convert_1_2, Convert<AnyPair<1, 2>>)                                                     \
    KERNEL(via_convert_1_4, Convert<AnyPair<1, 4>>)                                                     \
    KERNEL(via_convert_1_8, Convert<AnyPair<1, 8>>)                                                     \
    KERNEL(via_convert_1_16, Convert<AnyPair<1, 16>>)                                                   \
    KERNEL(via_convert_2_1, Convert<AnyPair<2, 1>>)                                                     \
    KERNEL(via_convert_2_2, Convert<AnyPair<2, 2>>)                                                     \
    KERNEL(via_convert_2_4, Convert<AnyPair<2, 4>>)                                                     \
    KERNEL(via_convert_2_8, Convert<AnyPair<2, 8>>)                                                     \
    KERNEL(via_convert_2_16, Convert<AnyPair<2, 16>>)                                                   \
    KERNEL(via_convert_4_1, Convert<AnyPair<4, 1>>)                                                     \
    KERNEL(via_convert_4_2, Convert<AnyPair<4, 2>>)                                                     \
    KERNEL(via_convert_4_4, Convert<AnyPair<4, 4>>)                                                     \
    KERNEL(via_convert_4_8, Convert<AnyPair<4, 8>>)                                                     \
    KERNEL(via_convert_4_16, Convert<AnyPair<4, 16>>)                                                   \
    KERNEL(via_convert_8_1, Convert<AnyPair<8, 1>>)                                                     \
    KERNEL(via_convert_8_2, Convert<AnyPair<8, 2>>)                                                     \
    KERNEL(via_convert_8_4, Convert<AnyPair<8, 4>>)                                                     \
    KERNEL(via_convert_8_8, Convert<AnyPair<8, 8>>)                                                     \
    KERNEL(via_convert_8_16, Convert<AnyPair<8, 16>>)                                                   \
    KERNEL(via_convert_16_1, Convert<AnyPair<16, 1>>)
