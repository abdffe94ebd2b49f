// Converts elements: adjacent ones by groups of up to 16 bytes, others one by one, whatever the steps.
#pragma once

#include "core/layout/convert_scalar.hpp"
#include "cuda/kernels/divisor.cuh"

namespace via::kernels {

struct ConvertParams {
    struct Axis {
        Divisor<uint64_t> extent;  // not of the last axis, which takes what is left
        int64_t dst_step;          // bytes
        int64_t src_step;
    };
    uint64_t dst;
    uint64_t src;
    uint64_t count;
    uint64_t first_block;  // of this launch
    ElementConversion elements;
    WideKind wide;     // of the source
    bool is_narrow;    // the destination
    uint8_t dst_word;  // bytes that every element begins at a multiple of, as far as its size
    uint8_t src_word;
    int32_t ndim;  // 0: adjacent elements, of groups that begin at multiples of their size
    Axis axes[64];
};
static_assert(sizeof(ConvertParams) <= 4096, "what any driver passes with a launch");

template <int kSrcBytes, int kDstBytes>
struct Convert {
    using Params = ConvertParams;
    using SrcBits = typename BitsOfSize<kSrcBytes>::Type;
    using DstBits = typename BitsOfSize<kDstBytes>::Type;
    struct Shared {};
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kLeastBlocks = 0;
    static constexpr int kWider = kSrcBytes > kDstBytes ? kSrcBytes : kDstBytes;
    static constexpr uint32_t kGroup = kWider == 1 ? 8 : 16 / kWider;  // elements that are loaded at once
    static constexpr uint32_t kGroups = 8 / kGroup < 4 ? 8 / kGroup : 4;
    static constexpr uint32_t kPerThread = kGroup * kGroups;
    static constexpr uint32_t kPerBlock = kThreads * kPerThread;

    // ------------------------------------------------------------------------------------------------ one thread's

    template <WideKind kWide, ScalarKind kKind>
    VIA_DEVICE static void decode_as(const SrcBits *bits, typename WideType<kWide>::Type *wide) {
        if constexpr (kBytesOf<kKind> == kSrcBytes && kWideKindOf<kKind> == kWide) {
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                wide[i] = Scalar<kKind>::decode(bits[i]);
            }
        }
    }

    template <class Wide, ScalarKind kKind>
    VIA_DEVICE static void encode_as(const Wide *wide, bool saturates, DstBits *bits) {
        if constexpr (kBytesOf<kKind> == kDstBytes && (is_float<Wide> || !kIsNarrow<kKind>)) {
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                bits[i] = Scalar<kKind>::encode(wide[i], saturates);
            }
        }
    }

    // All threads of a launch take the same branches.
    template <WideKind kWide>
    VIA_DEVICE static void decode(const Params &params, const SrcBits *bits, typename WideType<kWide>::Type *wide) {
        switch (params.elements.src) {
#define VIA_DECODE_AS(kind, bytes, of)                  \
    case ScalarKind::kind:                              \
        decode_as<kWide, ScalarKind::kind>(bits, wide); \
        break;
            VIA_SCALAR_KINDS(VIA_DECODE_AS)
#undef VIA_DECODE_AS
        }
    }

    template <class Wide>
    VIA_DEVICE static void encode(const Params &params, const Wide *wide, DstBits *bits) {
        switch (params.elements.dst) {
#define VIA_ENCODE_AS(kind, size, of)                                             \
    case ScalarKind::kind:                                                        \
        encode_as<Wide, ScalarKind::kind>(wide, params.elements.saturates, bits); \
        break;
            VIA_SCALAR_KINDS(VIA_ENCODE_AS)
#undef VIA_ENCODE_AS
        }
    }

    template <WideKind kWide>
    VIA_SCALAR static constexpr bool has_source() {
        for (int i = 0; i < kScalarKinds; ++i) {
            if (kScalarBytes[i] == kSrcBytes && kWideOf[i] == kWide) {
                return true;
            }
        }
        return false;
    }

    // What narrower floats are rounded from, so that the code for them is there once.
    using Float = typename WideType<kSrcBytes == 8 ? WideKind::Float64 : WideKind::Float32>::Type;

    template <class Wide>
    VIA_DEVICE static Float to_float(Wide value) {
        if constexpr (kSrcBytes == 4 && sizeof(Wide) == 8) {
            return for_rounding(static_cast<uint32_t>(value));
        } else {
            return for_rounding(value);
        }
    }

    // Returns whether the elements are converted; otherwise they have become floats.
    template <WideKind kWide>
    VIA_DEVICE static bool convert_integers(const Params &params, const SrcBits *src, Float *floats, DstBits *dst) {
        if constexpr (has_source<kWide>()) {
            typename WideType<kWide>::Type wide[kPerThread] = {};
            decode<kWide>(params, src, wide);
            if (!params.is_narrow) {
                encode(params, wide, dst);
                return true;
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                floats[i] = to_float(wide[i]);
            }
        }
        return false;
    }

    VIA_DEVICE static void convert(const Params &params, SrcBits *src, DstBits *dst) {
        if (params.elements.swap_bytes > 1) {
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                swap(&src[i], params.elements.swap_bytes);
            }
        }
        Float floats[kPerThread] = {};
        bool done = false;
        switch (params.wide) {
            case WideKind::Int32:
                done = convert_integers<WideKind::Int32>(params, src, floats, dst);
                break;
            case WideKind::Int64:
                done = convert_integers<WideKind::Int64>(params, src, floats, dst);
                break;
            case WideKind::UInt64:
                done = convert_integers<WideKind::UInt64>(params, src, floats, dst);
                break;
            default:
                decode<kSrcBytes == 8 ? WideKind::Float64 : WideKind::Float32>(params, src, floats);
        }
        if (!done) {
            encode(params, floats, dst);
        }
    }

    // Swap the bytes of each part of so many bytes.
    VIA_DEVICE static void swap(uint8_t *, uint32_t) {}
    VIA_DEVICE static void swap(uint16_t *bits, uint32_t) { *bits = static_cast<uint16_t>(*bits << 8 | *bits >> 8); }
    VIA_DEVICE static void swap(uint32_t *bits, uint32_t part) {
        *bits = permute_bytes(*bits, 0, part == 2 ? 0x2301 : 0x0123);
    }
    VIA_DEVICE static void swap(uint64_t *bits, uint32_t part) {
        const uint32_t low = permute_bytes(static_cast<uint32_t>(*bits), 0, 0x0123);
        const uint32_t high = permute_bytes(static_cast<uint32_t>(*bits >> 32), 0, 0x0123);
        *bits = part == 4 ? uint64_t{high} << 32 | low : uint64_t{low} << 32 | high;
    }
    VIA_DEVICE static void swap(Bits16 *bits, uint32_t part) {
        swap(&bits->parts[0], part);
        swap(&bits->parts[1], part);
    }

    // ------------------------------------------------------------------------------------------------ memory

    template <class Bits>
    static constexpr int kPiece = sizeof(Bits) < 8 ? static_cast<int>(sizeof(Bits)) : 8;

    // One element, which may begin anywhere.
    template <class Bits>
    VIA_DEVICE static void load_one(uint64_t address, uint32_t word, Bits *bits) {
        auto *to = reinterpret_cast<unsigned char *>(bits);
        if (word >= kPiece<Bits>) {
            VIA_UNROLL
            for (int i = 0; i < static_cast<int>(sizeof(Bits)); i += kPiece<Bits>) {
                const auto piece = load_global<Word<kPiece<Bits>>>(address + static_cast<uint64_t>(i));
                __builtin_memcpy(to + i, &piece, sizeof piece);
            }
        } else {
            VIA_UNROLL
            for (int i = 0; i < static_cast<int>(sizeof(Bits)); ++i) {
                to[i] = load_global<uint8_t>(address + static_cast<uint64_t>(i));
            }
        }
    }

    template <class Bits>
    VIA_DEVICE static void store_one(uint64_t address, uint32_t word, const Bits &bits) {
        const auto *from = reinterpret_cast<const unsigned char *>(&bits);
        if (word >= kPiece<Bits>) {
            VIA_UNROLL
            for (int i = 0; i < static_cast<int>(sizeof(Bits)); i += kPiece<Bits>) {
                Word<kPiece<Bits>> piece;
                __builtin_memcpy(&piece, from + i, sizeof piece);
                store_global(address + static_cast<uint64_t>(i), piece);
            }
        } else {
            VIA_UNROLL
            for (int i = 0; i < static_cast<int>(sizeof(Bits)); ++i) {
                store_global(address + static_cast<uint64_t>(i), static_cast<uint8_t>(from[i]));
            }
        }
    }

    struct Place {
        uint64_t dst;
        uint64_t src;
    };

    VIA_DEVICE static Place place_of(const Params &params, uint64_t index) {
        Place place{params.dst, params.src};
        const int32_t last = params.ndim - 1;
        for (int32_t i = 0; i <= last; ++i) {
            const auto &axis = params.axes[i];
            const auto at = static_cast<int64_t>(i < last ? take_digit(&index, axis.extent) : index);
            place.dst += static_cast<uint64_t>(at * axis.dst_step);
            place.src += static_cast<uint64_t>(at * axis.src_step);
        }
        return place;
    }

    // Numbers element i of a thread. Threads next to one another have elements next to one another, by groups where all
    // are adjacent.
    VIA_DEVICE static uint64_t index_of(const Params &params, uint64_t first, uint32_t thread, uint32_t i) {
        return params.ndim != 0 ? first + i * kThreads + thread
                                : first + (i / kGroup * kThreads + thread) * uint64_t{kGroup} + i % kGroup;
    }

    VIA_DEVICE static Place find(const Params &params, uint64_t index) {
        return params.ndim != 0 ? place_of(params, index)
                                : Place{params.dst + index * kDstBytes, params.src + index * kSrcBytes};
    }

    VIA_DEVICE static bool is_whole_group(const Params &params, uint64_t index) {
        return params.ndim == 0 && index + kGroup <= params.count;
    }

    VIA_DEVICE static void load(const Params &params, uint64_t first, uint32_t thread, SrcBits *bits) {
        using Group = Word<kGroup * kSrcBytes>;
        VIA_UNROLL
        for (uint32_t g = 0; g < kPerThread; g += kGroup) {
            const uint64_t start = index_of(params, first, thread, g);
            if (is_whole_group(params, start)) {
                const auto group = load_global<Group>(params.src + start * kSrcBytes);
                __builtin_memcpy(&bits[g], &group, sizeof group);
                continue;
            }
            VIA_UNROLL
            for (uint32_t i = g; i < g + kGroup; ++i) {
                const uint64_t index = index_of(params, first, thread, i);
                if (index < params.count) {
                    load_one(find(params, index).src, params.src_word, &bits[i]);
                }
            }
        }
    }

    VIA_DEVICE static void store(const Params &params, uint64_t first, uint32_t thread, const DstBits *bits) {
        using Group = Word<kGroup * kDstBytes>;
        VIA_UNROLL
        for (uint32_t g = 0; g < kPerThread; g += kGroup) {
            const uint64_t start = index_of(params, first, thread, g);
            if (is_whole_group(params, start)) {
                Group group;
                __builtin_memcpy(&group, &bits[g], sizeof group);
                store_global(params.dst + start * kDstBytes, group);
                continue;
            }
            VIA_UNROLL
            for (uint32_t i = g; i < g + kGroup; ++i) {
                const uint64_t index = index_of(params, first, thread, i);
                if (index < params.count) {
                    store_one(find(params, index).dst, params.dst_word, bits[i]);
                }
            }
        }
    }

    // Issues all loads before the first is used.
    VIA_DEVICE static void run(const Params &params, Shared &, uint32_t block, const Threads &threads) {
        const uint64_t first = (params.first_block + block) * kPerBlock;
        threads.each([&](uint32_t thread) {
            SrcBits src[kPerThread] = {};
            DstBits dst[kPerThread] = {};
            load(params, first, thread, src);
            convert(params, src, dst);
            store(params, first, thread, dst);
        });
    }
};

}  // namespace via::kernels

// The kernels, named after the bytes of source and destination. Elements of 16 bytes are complex numbers that become
// bool, or that have no imaginary part.
#define VIA_CONVERT_KERNELS(KERNEL)          \
    KERNEL(via_convert_1_1, Convert<1, 1>)   \
    KERNEL(via_convert_1_2, Convert<1, 2>)   \
    KERNEL(via_convert_1_4, Convert<1, 4>)   \
    KERNEL(via_convert_1_8, Convert<1, 8>)   \
    KERNEL(via_convert_1_16, Convert<1, 16>) \
    KERNEL(via_convert_2_1, Convert<2, 1>)   \
    KERNEL(via_convert_2_2, Convert<2, 2>)   \
    KERNEL(via_convert_2_4, Convert<2, 4>)   \
    KERNEL(via_convert_2_8, Convert<2, 8>)   \
    KERNEL(via_convert_2_16, Convert<2, 16>) \
    KERNEL(via_convert_4_1, Convert<4, 1>)   \
    KERNEL(via_convert_4_2, Convert<4, 2>)   \
    KERNEL(via_convert_4_4, Convert<4, 4>)   \
    KERNEL(via_convert_4_8, Convert<4, 8>)   \
    KERNEL(via_convert_4_16, Convert<4, 16>) \
    KERNEL(via_convert_8_1, Convert<8, 1>)   \
    KERNEL(via_convert_8_2, Convert<8, 2>)   \
    KERNEL(via_convert_8_4, Convert<8, 4>)   \
    KERNEL(via_convert_8_8, Convert<8, 8>)   \
    KERNEL(via_convert_8_16, Convert<8, 16>) \
    KERNEL(via_convert_16_1, Convert<16, 1>)
