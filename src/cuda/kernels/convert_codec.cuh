// Converts elements that a thread holds, all at once: one pair of types, or any pair of types of some sizes.
#pragma once

#include "core/layout/convert_scalar.hpp"
#include "cuda/kernels/device.cuh"

namespace via::kernels {

using via::ScalarKind;  // for those who list the kernels

// What is converted, with what the planner knows of it.
struct PlannedConversion : ElementConversion {
    WideKind wide;   // of the source
    bool is_narrow;  // the destination is rounded to by the bits of a wider float
    bool is_affine;  // by what scale_of(i) returns for element i
};

struct ConvertScale {
    float scale;
    float offset;
};

// ------------------------------------------------------------------------------------------------ byte order

// Swaps the bytes of each part of so many bytes.
VIA_DEVICE void swap_parts(uint8_t *, uint32_t) {}
VIA_DEVICE void swap_parts(uint16_t *bits, uint32_t) { *bits = static_cast<uint16_t>(*bits << 8 | *bits >> 8); }
VIA_DEVICE void swap_parts(uint32_t *bits, uint32_t part) {
    *bits = permute_bytes(*bits, 0, part == 2 ? 0x2301 : 0x0123);
}
VIA_DEVICE void swap_parts(uint64_t *bits, uint32_t part) {
    const uint32_t low = permute_bytes(static_cast<uint32_t>(*bits), 0, 0x0123);
    const uint32_t high = permute_bytes(static_cast<uint32_t>(*bits >> 32), 0, 0x0123);
    *bits = part == 4 ? uint64_t{high} << 32 | low : uint64_t{low} << 32 | high;
}
VIA_DEVICE void swap_parts(Bits16 *bits, uint32_t part) {
    swap_parts(&bits->parts[0], part);
    swap_parts(&bits->parts[1], part);
}

template <uint32_t kCount, class Bits>
VIA_DEVICE void swap_all(Bits *bits, uint32_t part) {
    if (part > 1) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kCount; ++i) {
            swap_parts(&bits[i], part);
        }
    }
}

// ------------------------------------------------------------------------------------------------ two at a time

// Where the processor rounds two float32 at once. It agrees with Scalar up to the largest number that is not an
// overflow, and has a NaN of its own.
template <ScalarKind>
struct Packed {
    static constexpr bool exists = false;
};

#ifdef __CUDACC__
#define VIA_PACK(kind, type, instruction, constraint)                                   \
    VIA_DEVICE static type run(float low, float high) {                                 \
        type packed;                                                                    \
        asm(instruction " %0, %1, %2;" : "=" constraint(packed) : "f"(high), "f"(low)); \
        return packed;                                                                  \
    }
#else
#define VIA_PACK(kind, type, instruction, constraint)                         \
    static type run(float low, float high) {                                  \
        const uint32_t first = Scalar<ScalarKind::kind>::encode(low, true);   \
        const uint32_t second = Scalar<ScalarKind::kind>::encode(high, true); \
        return static_cast<type>(first | second << (4 * sizeof(type)));       \
    }
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <>
struct Packed<ScalarKind::BFloat16> {
    static constexpr bool exists = true;
    static constexpr float kLimit = __builtin_huge_valf();
    VIA_PACK(BFloat16, uint32_t, "cvt.rn.bf16x2.f32", "r")
};
template <>
struct Packed<ScalarKind::Float16> {
    static constexpr bool exists = true;
    static constexpr float kLimit = __builtin_huge_valf();
    VIA_PACK(Float16, uint32_t, "cvt.rn.f16x2.f32", "r")
};
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
template <>
struct Packed<ScalarKind::Float8E4M3FN> {
    static constexpr bool exists = true;
    static constexpr float kLimit = 464;  // halfway from the largest number, 448, which is even
    VIA_PACK(Float8E4M3FN, uint16_t, "cvt.rn.satfinite.e4m3x2.f32", "h")
};
template <>
struct Packed<ScalarKind::Float8E5M2> {
    static constexpr bool exists = true;
    static constexpr float kLimit = 61439.99609375F;  // below halfway from the largest number, 57344, which is odd
    VIA_PACK(Float8E5M2, uint16_t, "cvt.rn.satfinite.e5m2x2.f32", "h")
};
#endif
#undef VIA_PACK

// Returns false if the processor would make other bits of a number, which has then touched nothing.
template <ScalarKind kKind, uint32_t kCount, class Bits>
VIA_DEVICE bool encode_packed(const float *numbers, bool saturates, Bits *bits) {
    using Pack = Packed<kKind>;
    const float limit = saturates ? __builtin_huge_valf() : Pack::kLimit;
    bool is_plain = true;
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        is_plain &= __builtin_fabsf(numbers[i]) <= limit;
    }
    if (!is_plain) {
        return false;
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; i += 2) {
        const auto packed = Pack::run(numbers[i], numbers[i + 1]);
        bits[i] = static_cast<Bits>(packed);
        bits[i + 1] = static_cast<Bits>(packed >> (8 * sizeof(Bits)));
    }
    return true;
}

template <ScalarKind kKind, uint32_t kCount, class Wide, class Bits>
VIA_DEVICE void encode_all(const Wide *numbers, bool saturates, Bits *bits) {
    if constexpr (Packed<kKind>::exists && sizeof(Wide) == 4 && std::is_floating_point_v<Wide>) {
        if (encode_packed<kKind, kCount>(numbers, saturates, bits)) {
            return;
        }
    }
    VIA_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
        bits[i] = Scalar<kKind>::encode(numbers[i], saturates);
    }
}

// ------------------------------------------------------------------------------------------------ one pair of types

template <ScalarKind kDst, ScalarKind kSrc>
struct OnePair {
    static constexpr int kSrcBytes = kBytesOf<kSrc>;
    static constexpr int kDstBytes = kBytesOf<kDst>;
    static constexpr ScalarKind kSrcKind = kSrc;
    static constexpr ScalarKind kDstKind = kDst;
    static constexpr uint32_t kPerThread = kSrcBytes == 8 || kDstBytes == 8 ? 8 : 16;
    static constexpr bool is_aligned = true;  // elements begin at multiples of their size
    using SrcBits = ScalarBits<kSrc>;
    using DstBits = ScalarBits<kDst>;

    // Integers of at most 16 bits are floats as they are.
    VIA_DEVICE static auto to_float(ScalarWide<kSrc> value) {
        if constexpr (kDst >= ScalarKind::Float16 && kSrcBytes <= 2) {
            return static_cast<float>(value);
        } else if constexpr (kIsNarrow<kDst>) {
            return for_rounding(value);
        } else {
            return value;
        }
    }

    // Integers alone: what models and images are made of.
    static constexpr bool takes_affine = kSrc < ScalarKind::Float16 && kDst >= ScalarKind::Float16;

    template <class ScaleOf>
    VIA_DEVICE static void convert(const PlannedConversion &elements, const SrcBits *src, DstBits *dst,
                                   const ScaleOf &scale_of) {
        decltype(to_float({})) numbers[kPerThread];
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            numbers[i] = to_float(Scalar<kSrc>::decode(src[i]));
        }
        if constexpr (takes_affine) {
            if (elements.is_affine) {
                VIA_UNROLL
                for (uint32_t i = 0; i < kPerThread; ++i) {
                    const ConvertScale by = scale_of(i);
                    numbers[i] = scaled(numbers[i], by.scale, by.offset);
                }
            }
        }
        encode_all<kDst, kPerThread>(numbers, elements.saturates, dst);
    }
};

// ------------------------------------------------------------------------------------------------ any pair

// Any types of these sizes.
template <int kSrcSize, int kDstSize>
struct AnyPair {
    static constexpr int kSrcBytes = kSrcSize;
    static constexpr int kDstBytes = kDstSize;
    static constexpr ScalarKind kSrcKind{};  // any
    static constexpr ScalarKind kDstKind{};
    static constexpr bool takes_affine = true;
    static constexpr uint32_t kPerThread = kSrcBytes == 16 || kDstBytes == 16 ? 4 : 8;
    static constexpr bool is_aligned = false;
    using SrcBits = BitsOfSize<kSrcBytes>;
    using DstBits = BitsOfSize<kDstBytes>;

    template <WideKind kWide, ScalarKind kKind>
    VIA_DEVICE static void decode_as(const SrcBits *bits, WideType<kWide> *wide) {
        if constexpr (kBytesOf<kKind> == kSrcBytes && kWideKindOf<kKind> == kWide) {
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                wide[i] = Scalar<kKind>::decode(bits[i]);
            }
        }
    }

    template <class Wide, ScalarKind kKind>
    VIA_DEVICE static void encode_as(const Wide *wide, bool saturates, DstBits *bits) {
        if constexpr (kBytesOf<kKind> == kDstBytes && (std::is_floating_point_v<Wide> || !kIsNarrow<kKind>)) {
            encode_all<kKind, kPerThread>(wide, saturates, bits);
        }
    }

    // All threads of a launch take the same branches.
    template <WideKind kWide>
    VIA_DEVICE static void decode(const PlannedConversion &elements, const SrcBits *bits, WideType<kWide> *wide) {
        switch (elements.src) {
#define VIA_DECODE_AS(kind, bytes, of)                  \
    case ScalarKind::kind:                              \
        decode_as<kWide, ScalarKind::kind>(bits, wide); \
        break;
            VIA_SCALAR_KINDS(VIA_DECODE_AS)
#undef VIA_DECODE_AS
        }
    }

    template <class Wide>
    VIA_DEVICE static void encode(const PlannedConversion &elements, const Wide *wide, DstBits *bits) {
        switch (elements.dst) {
#define VIA_ENCODE_AS(kind, size, of)                                      \
    case ScalarKind::kind:                                                 \
        encode_as<Wide, ScalarKind::kind>(wide, elements.saturates, bits); \
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
    using Float = WideType<kSrcBytes == 8 ? WideKind::Float64 : WideKind::Float32>;

    template <class Wide>
    VIA_DEVICE static Float to_float(Wide value) {
        if constexpr (kSrcBytes <= 2) {
            return static_cast<Float>(value);
        } else if constexpr (kSrcBytes == 4 && sizeof(Wide) == 8) {
            return for_rounding(static_cast<uint32_t>(value));
        } else {
            return for_rounding(value);
        }
    }

    // Returns whether the elements are converted; otherwise they have become floats.
    template <WideKind kWide>
    VIA_DEVICE static bool convert_integers(const PlannedConversion &elements, const SrcBits *src, Float *floats,
                                            DstBits *dst) {
        if constexpr (has_source<kWide>()) {
            WideType<kWide> wide[kPerThread] = {};
            decode<kWide>(elements, src, wide);
            if (!elements.is_narrow && !elements.is_affine) {
                encode(elements, wide, dst);
                return true;
            }
            VIA_UNROLL
            for (uint32_t i = 0; i < kPerThread; ++i) {
                floats[i] = elements.is_affine ? static_cast<float>(wide[i]) : to_float(wide[i]);
            }
        }
        return false;
    }

    template <class ScaleOf>
    VIA_DEVICE static void scale(const ScaleOf &scale_of, Float *floats) {
        VIA_UNROLL
        for (uint32_t i = 0; i < kPerThread; ++i) {
            const ConvertScale by = scale_of(i);
            floats[i] = float_of<Float>(scaled(float_of<float>(floats[i]), by.scale, by.offset));
        }
    }

    template <class ScaleOf>
    VIA_DEVICE static void convert(const PlannedConversion &elements, const SrcBits *src, DstBits *dst,
                                   const ScaleOf &scale_of) {
        Float floats[kPerThread] = {};
        bool done = false;
        switch (elements.wide) {
            case WideKind::Int32:
                done = convert_integers<WideKind::Int32>(elements, src, floats, dst);
                break;
            case WideKind::Int64:
                done = convert_integers<WideKind::Int64>(elements, src, floats, dst);
                break;
            case WideKind::UInt64:
                done = convert_integers<WideKind::UInt64>(elements, src, floats, dst);
                break;
            default:
                decode<kSrcBytes == 8 ? WideKind::Float64 : WideKind::Float32>(elements, src, floats);
        }
        if (!done) {
            if (kSrcBytes < 16 && kDstBytes < 16 && elements.is_affine) {
                scale(scale_of, floats);
            }
            encode(elements, floats, dst);
        }
    }
};

}  // namespace via::kernels
