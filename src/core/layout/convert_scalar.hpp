// Converts one element: the same bits on the host and on a GPU.
//
// How it works. A source is decoded to a wide type that holds its values exactly, and that is encoded as the
// destination, rounded once. Decoders and encoders have no branches, so that compilers make vectors of loops of them.
// They use integers, and floating point operations that IEEE 754 defines to the last bit. Processors disagree about
// NaNs alone, which are therefore made of bits on a GPU: quiet, of the same sign, with the upper bits of the payload.
//
// Compiled for several instruction sets: all of it has internal linkage.
#pragma once

#include <tuple>
#include <type_traits>

#include "core/layout/scalar_kinds.hpp"

#ifdef __CUDACC__
#define VIA_SCALAR __host__ __device__ __forceinline__
#else
#define VIA_SCALAR [[gnu::always_inline]] inline
#endif

namespace via {
namespace {

template <class To, class From>
VIA_SCALAR To bits_as(const From &from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// ------------------------------------------------------------------------------------------------ float32 and float64

template <class Float>
struct FloatBits;
template <>
struct FloatBits<float> {
    using Bits = uint32_t;
    using Int = int32_t;
    static constexpr int kMantissa = 23;
    static constexpr int kBias = 127;
};
template <>
struct FloatBits<double> {
    using Bits = uint64_t;
    using Int = int64_t;
    static constexpr int kMantissa = 52;
    static constexpr int kBias = 1023;
};

// Returns 2^exponent, a normal number.
template <class Float>
VIA_SCALAR Float power_of_two(int exponent) {
    using B = FloatBits<Float>;
    return bits_as<Float>(static_cast<typename B::Bits>(exponent + B::kBias) << B::kMantissa);
}

VIA_SCALAR float narrowed(double value) {
#ifdef __CUDA_ARCH__
    const uint64_t bits = bits_as<uint64_t>(value);
    const auto nan = static_cast<uint32_t>(bits >> 32 & 0x80000000) | 0x7FC00000 | (bits >> 29 & 0x3FFFFF);
    return value != value ? bits_as<float>(static_cast<uint32_t>(nan)) : static_cast<float>(value);
#else
    return static_cast<float>(value);
#endif
}

VIA_SCALAR double widened(float value) {
#ifdef __CUDA_ARCH__
    const uint64_t bits = bits_as<uint32_t>(value);
    const uint64_t nan = (bits & 0x80000000) << 32 | 0x7FF8000000000000 | (bits & 0x3FFFFF) << 29;
    return value != value ? bits_as<double>(nan) : static_cast<double>(value);
#else
    return static_cast<double>(value);
#endif
}

template <class To, class From>
VIA_SCALAR To float_of(From value) {
    if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
        return narrowed(value);
    } else if constexpr (std::is_same_v<To, double> && std::is_same_v<From, float>) {
        return widened(value);
    } else {
        return static_cast<To>(value);
    }
}

// Rounds twice, as the two operations do. Whatever the processor, what is no number is quiet, positive and without a
// payload.
VIA_SCALAR float scaled(float value, float scale, float offset) {
#ifdef __CUDA_ARCH__
    const float result = __fadd_rn(__fmul_rn(value, scale), offset);
#else
    const float result = value * scale + offset;
#endif
    return result != result ? bits_as<float>(uint32_t{0x7FC00000}) : result;
}

// ------------------------------------------------------------------------------------------------ narrower floats

enum class Specials {
    Ieee,     // infinities and NaNs, at the greatest exponent
    AllOnes,  // NaN where all bits but the sign are one
    Fnuz,     // NaN in place of negative zero
    None
};

template <int kExponentBits, int kMantissaBits, int kBiasOf, Specials kSpecialsOf>
struct NarrowFloat {
    static constexpr int kMantissa = kMantissaBits;
    static constexpr int kBias = kBiasOf;
    static constexpr Specials kSpecials = kSpecialsOf;
    static constexpr uint32_t kSign = uint32_t{1} << (kExponentBits + kMantissaBits);
    static constexpr uint32_t kInfinity = kSign - (uint32_t{1} << kMantissaBits);  // of Ieee
    static constexpr uint32_t kQuiet = uint32_t{1} << (kMantissaBits - 1);
    static constexpr uint32_t kLargest = kSpecialsOf == Specials::Ieee      ? kInfinity - 1
                                         : kSpecialsOf == Specials::AllOnes ? kSign - 2
                                                                            : kSign - 1;
    static constexpr uint32_t kOverflow = kSpecialsOf == Specials::Ieee      ? kInfinity
                                          : kSpecialsOf == Specials::AllOnes ? kSign - 1
                                          : kSpecialsOf == Specials::Fnuz    ? kSign
                                                                             : kSign - 1;
    static constexpr bool keeps_payload = kExponentBits + kMantissaBits == 15;
};

// Rounds the magnitude to nearest even. Numbers below the least normal one of the format are rounded by an addition
// that leaves them in the low bits of the sum.
template <class Format, class Float>
VIA_SCALAR uint32_t round_magnitude(typename FloatBits<Float>::Bits magnitude) {
    using B = FloatBits<Float>;
    using Bits = typename B::Bits;
    constexpr int kShift = B::kMantissa - Format::kMantissa;
    constexpr Bits kRebase = static_cast<Bits>(B::kBias - Format::kBias) << B::kMantissa;
    const Bits odd = magnitude >> kShift & 1;
    const Bits normal = (magnitude + ((Bits{1} << (kShift - 1)) - 1) + odd - kRebase) >> kShift;
    Bits code = normal;
    if constexpr (B::kBias > Format::kBias) {
        constexpr Bits kLeastNormal = static_cast<Bits>(B::kBias + 1 - Format::kBias) << B::kMantissa;
        const Float ulp = power_of_two<Float>(B::kMantissa + 1 - Format::kBias - Format::kMantissa);
        const Bits subnormal = bits_as<Bits>(bits_as<Float>(magnitude) + ulp) - bits_as<Bits>(ulp);
        code = magnitude < kLeastNormal ? subnormal : normal;
    }
    constexpr Bits kMost = Format::kLargest;
    return static_cast<uint32_t>(code > kMost ? kMost + 1 : code);
}

template <class Format, class Float>
VIA_SCALAR uint32_t encode_nan(typename FloatBits<Float>::Bits magnitude) {
    using B = FloatBits<Float>;
    if constexpr (Format::kSpecials == Specials::Ieee) {
        const auto payload = static_cast<uint32_t>(magnitude >> (B::kMantissa - Format::kMantissa));
        return Format::kInfinity | Format::kQuiet | (Format::keeps_payload ? payload & (Format::kQuiet - 1) : 0);
    } else if constexpr (Format::kSpecials == Specials::AllOnes) {
        return Format::kSign - 1;
    } else {
        return Format::kSign;  // which None has for -0.0
    }
}

// The upper half of a float32, where rounding carries into infinity by itself.
VIA_SCALAR uint32_t encode_upper_half(uint32_t bits) {
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return static_cast<int32_t>(bits & 0x7FFFFFFF) > 0x7F800000 ? bits >> 16 | 0x40 : rounded;
}

template <class Format, class Float>
VIA_SCALAR uint32_t encode_narrow(Float value, bool saturates) {
    if constexpr (Format::kBias == 127 && sizeof(Float) == 4) {
        return encode_upper_half(bits_as<uint32_t>(value));
    }
    using B = FloatBits<Float>;
    using Bits = typename B::Bits;
    constexpr int kBits = sizeof(Bits) * 8;
    constexpr Bits kInfinity = ((Bits{1} << (kBits - 1 - B::kMantissa)) - 1) << B::kMantissa;
    const Bits bits = bits_as<Bits>(value);
    const Bits magnitude = bits & ~(Bits{1} << (kBits - 1));
    const uint32_t sign = (bits >> (kBits - 1)) != 0 ? Format::kSign : 0;
    const uint32_t overflow = saturates ? Format::kLargest : Format::kOverflow;
    const uint32_t rounded = round_magnitude<Format, Float>(magnitude);
    uint32_t code = rounded > Format::kLargest ? overflow : rounded;
    code = magnitude > kInfinity ? encode_nan<Format, Float>(magnitude) : code;
    if constexpr (Format::kSpecials == Specials::Fnuz) {
        return (code & (Format::kSign - 1)) != 0 ? code | sign : code;
    } else {
        return code ^ sign;
    }
}

template <class Format>
VIA_SCALAR float decode_narrow(uint32_t code) {
    constexpr int kShift = 23 - Format::kMantissa;
    const uint32_t magnitude = code & (Format::kSign - 1);
    if constexpr (Format::kBias == 127) {
        return bits_as<float>(code << 16 | (magnitude > Format::kInfinity ? 0x400000U : 0U));
    }
    const uint32_t sign = (code & Format::kSign) != 0 ? 0x80000000 : 0;
    uint32_t bits = (magnitude << kShift) + (static_cast<uint32_t>(127 - Format::kBias) << 23);
    if constexpr (Format::kBias < 127) {
        const float subnormal = static_cast<float>(static_cast<int32_t>(magnitude)) *
                                power_of_two<float>(1 - Format::kBias - Format::kMantissa);
        bits = magnitude < (uint32_t{1} << Format::kMantissa) ? bits_as<uint32_t>(subnormal) : bits;
    }
    if constexpr (Format::kSpecials == Specials::Ieee) {
        const uint32_t quiet = magnitude > Format::kInfinity ? 0x400000 : 0;
        const uint32_t special = 0x7F800000 | quiet | (magnitude << kShift & 0x7FFFFF);
        bits = magnitude >= Format::kInfinity ? special : bits;
    } else if constexpr (Format::kSpecials == Specials::AllOnes) {
        bits = magnitude == Format::kSign - 1 ? 0x7FC00000 : bits;
    } else if constexpr (Format::kSpecials == Specials::Fnuz) {
        bits = magnitude == 0 && sign != 0 ? 0x7FC00000 : bits;
    }
    return bits_as<float>(bits | sign);
}

// A power of two: rounded to the nearest, halves up, and no less than the least. NaN for what is not positive.
template <class Float>
VIA_SCALAR uint32_t encode_power(Float value, bool saturates) {
    using B = FloatBits<Float>;
    using Bits = typename B::Bits;
    constexpr Bits kInfinity = ((Bits{1} << (sizeof(Bits) * 8 - 1 - B::kMantissa)) - 1) << B::kMantissa;
    constexpr Bits kHalf = Bits{1} << (B::kMantissa - 1);
    const Bits bits = bits_as<Bits>(value);
    // 2^-127 is subnormal in float32, where its code is that of one and a half times as much.
    constexpr Bits kLeast = static_cast<Bits>(B::kBias - 127) << B::kMantissa;
    const Bits rounded = (bits + kHalf - kLeast) >> B::kMantissa;
    const bool is_least = bits < kLeast + kHalf || (B::kBias == 127 && bits < kHalf + (kHalf >> 1));
    const uint32_t overflow = saturates ? 254 : 255;
    const uint32_t code = is_least ? 0 : rounded > 254 ? overflow : static_cast<uint32_t>(rounded);
    return bits == 0 || bits > kInfinity ? 255 : code;
}

VIA_SCALAR float decode_power(uint32_t code) {
    return bits_as<float>(code == 255 ? 0x7FC00000 : code == 0 ? 0x00400000 : code << 23);
}

// ------------------------------------------------------------------------------------------------ integers

// Cuts the fraction off. Numbers out of range become the nearest limit, NaN zero. `kBits` are those of the value.
template <class To, int kBits, class Float>
VIA_SCALAR To saturated(Float value) {
    constexpr bool is_signed = std::is_signed_v<To>;
    constexpr auto kMost =
        static_cast<To>((uint64_t{1} << (kBits - 1)) - 1 + (is_signed ? 0 : uint64_t{1} << (kBits - 1)));
    constexpr To kLeast = is_signed ? static_cast<To>(-kMost - 1) : static_cast<To>(0);
    if constexpr (kBits <= FloatBits<Float>::kMantissa + 1) {  // both limits are floats
        constexpr auto most = static_cast<Float>(kMost);
        const Float number = value == value ? value : Float{0};  // NOLINT(misc-redundant-expression): not of NaN
        const Float above = number > static_cast<Float>(kLeast) ? number : static_cast<Float>(kLeast);
        const Float inside = above < most ? above : most;
        using Step = std::conditional_t<(kBits < 32 || (kBits == 32 && is_signed)), int32_t, int64_t>;
        return static_cast<To>(static_cast<Step>(inside));
    }
    const Float limit = power_of_two<Float>(is_signed ? kBits - 1 : kBits);
    const Float least = static_cast<Float>(kLeast);
    // Compilers convert whatever comes of a vector's other lanes: that must be in range.
    const bool in_range = value > least - 1 && value < limit;
    const To inside = static_cast<To>(in_range ? value : Float{0});
    return value >= limit ? kMost : value <= least ? kLeast : inside;
}

template <class To, int kBits, class Wide>
VIA_SCALAR To to_integer(Wide value) {
    if constexpr (std::is_floating_point_v<Wide>) {
        return saturated<To, kBits>(value);
    } else {
        return static_cast<To>(value);
    }
}

// Returns a float that any narrower one rounds from as from the number itself: exact, or a little off at bits that only
// say whether there is a rest.
VIA_SCALAR uint32_t kept_bits(uint32_t magnitude) {
    const uint32_t rest = (magnitude & 0xFF) != 0 ? 0x100 : 0;
    return magnitude >= uint32_t{1} << 24 ? (magnitude & ~uint32_t{0xFF}) | rest : magnitude;
}
VIA_SCALAR float for_rounding(uint32_t value) { return static_cast<float>(kept_bits(value)); }
VIA_SCALAR float for_rounding(int32_t value) {
    const uint32_t sign = value < 0 ? 0x80000000 : 0;
    const uint32_t kept = kept_bits(value < 0 ? 0 - static_cast<uint32_t>(value) : static_cast<uint32_t>(value));
    return bits_as<float>(bits_as<uint32_t>(static_cast<float>(static_cast<int32_t>(kept))) | sign);
}

VIA_SCALAR double for_rounding(uint64_t magnitude) {
    const uint64_t rest = (magnitude & 0x7FF) != 0 ? 0x800 : 0;
    return static_cast<double>(magnitude >= uint64_t{1} << 53 ? (magnitude & ~uint64_t{0x7FF}) | rest : magnitude);
}
VIA_SCALAR double for_rounding(int64_t value) {
    const double rounded = for_rounding(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    return value < 0 ? -rounded : rounded;
}
VIA_SCALAR float for_rounding(float value) { return value; }
VIA_SCALAR double for_rounding(double value) { return value; }

// ------------------------------------------------------------------------------------------------ kinds

struct Bits16 {
    uint64_t parts[2];
};

constexpr int log2_of(int power) { return power > 1 ? 1 + log2_of(power / 2) : 0; }

template <int kBytes>
using BitsOfSize = std::tuple_element_t<log2_of(kBytes), std::tuple<uint8_t, uint16_t, uint32_t, uint64_t, Bits16>>;

template <WideKind kKind>
using WideType = std::tuple_element_t<static_cast<int>(kKind), std::tuple<int32_t, int64_t, uint64_t, float, double>>;

template <ScalarKind kKind>
constexpr int kBytesOf = kScalarBytes[static_cast<int32_t>(kKind)];
template <ScalarKind kKind>
constexpr WideKind kWideKindOf = kWideOf[static_cast<int32_t>(kKind)];

// Whether numbers are rounded to it by the bits of a wider float.
template <ScalarKind kKind>
constexpr bool kIsNarrow =
    kKind == ScalarKind::Float16 || kKind == ScalarKind::BFloat16 || kKind == ScalarKind::Complex32 ||
    (kKind >= ScalarKind::Float8E3M4 && kKind <= ScalarKind::Float4E2M1FN);

// Elements are read and written as unsigned integers of their size.
template <ScalarKind kKind>
using ScalarBits = BitsOfSize<kBytesOf<kKind>>;
template <ScalarKind kKind>
using ScalarWide = WideType<kWideKindOf<kKind>>;

// decode() of the bits, and encode() of any wide type.
template <ScalarKind kKind>
struct Scalar;

template <class Number>
struct IntegerScalar {
    using Bits = std::make_unsigned_t<Number>;
    VIA_SCALAR static auto decode(Bits bits) {
        if constexpr (sizeof(Number) < 4) {
            return static_cast<int32_t>(static_cast<Number>(bits));
        } else if constexpr (std::is_same_v<Number, uint32_t>) {
            return static_cast<int64_t>(bits);
        } else {
            return static_cast<Number>(bits);
        }
    }
    template <class Wide>
    VIA_SCALAR static Bits encode(Wide value, bool) {
        return static_cast<Bits>(to_integer<Number, sizeof(Number) * 8>(value));
    }
};
template <>
struct Scalar<ScalarKind::Int8> : IntegerScalar<int8_t> {};
template <>
struct Scalar<ScalarKind::Int16> : IntegerScalar<int16_t> {};
template <>
struct Scalar<ScalarKind::Int32> : IntegerScalar<int32_t> {};
template <>
struct Scalar<ScalarKind::Int64> : IntegerScalar<int64_t> {};
template <>
struct Scalar<ScalarKind::UInt8> : IntegerScalar<uint8_t> {};
template <>
struct Scalar<ScalarKind::UInt16> : IntegerScalar<uint16_t> {};
template <>
struct Scalar<ScalarKind::UInt32> : IntegerScalar<uint32_t> {};
template <>
struct Scalar<ScalarKind::UInt64> : IntegerScalar<uint64_t> {};

// In the low half of a byte; what is in the other half is not read, and written as zero.
template <>
struct Scalar<ScalarKind::Int4> {
    VIA_SCALAR static int32_t decode(uint8_t bits) { return static_cast<int32_t>((bits & 15U) ^ 8U) - 8; }
    template <class Wide>
    VIA_SCALAR static uint8_t encode(Wide value, bool) {
        return static_cast<uint8_t>(static_cast<uint32_t>(to_integer<int32_t, 4>(value)) & 15U);
    }
};
template <>
struct Scalar<ScalarKind::UInt4> {
    VIA_SCALAR static int32_t decode(uint8_t bits) { return static_cast<int32_t>(bits & 15U); }
    template <class Wide>
    VIA_SCALAR static uint8_t encode(Wide value, bool) {
        return static_cast<uint8_t>(to_integer<uint32_t, 4>(value) & 15U);
    }
};

template <>
struct Scalar<ScalarKind::Bool> {
    VIA_SCALAR static int32_t decode(uint8_t bits) { return bits != 0 ? 1 : 0; }
    template <class Wide>
    VIA_SCALAR static uint8_t encode(Wide value, bool) {
        return value != 0 ? 1 : 0;
    }
};

template <class Float>
struct FloatScalar {
    using Bits = typename FloatBits<Float>::Bits;
    VIA_SCALAR static Float decode(Bits bits) { return bits_as<Float>(bits); }
    template <class Wide>
    VIA_SCALAR static Bits encode(Wide value, bool) {
        return bits_as<Bits>(float_of<Float>(value));
    }
};
template <>
struct Scalar<ScalarKind::Float32> : FloatScalar<float> {};
template <>
struct Scalar<ScalarKind::Float64> : FloatScalar<double> {};

template <class Format, class BitsType>
struct NarrowScalar {
    VIA_SCALAR static float decode(BitsType bits) { return decode_narrow<Format>(bits); }
    template <class Wide>
    VIA_SCALAR static BitsType encode(Wide value, bool saturates) {
        constexpr bool can_saturate = sizeof(BitsType) == 1;
        return static_cast<BitsType>(encode_narrow<Format>(for_rounding(value), can_saturate && saturates));
    }
};
template <>
struct Scalar<ScalarKind::Float16> : NarrowScalar<NarrowFloat<5, 10, 15, Specials::Ieee>, uint16_t> {};
template <>
struct Scalar<ScalarKind::BFloat16> : NarrowScalar<NarrowFloat<8, 7, 127, Specials::Ieee>, uint16_t> {};
template <>
struct Scalar<ScalarKind::Float8E3M4> : NarrowScalar<NarrowFloat<3, 4, 3, Specials::Ieee>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E4M3> : NarrowScalar<NarrowFloat<4, 3, 7, Specials::Ieee>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E4M3B11FNUZ> : NarrowScalar<NarrowFloat<4, 3, 11, Specials::Fnuz>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E4M3FN> : NarrowScalar<NarrowFloat<4, 3, 7, Specials::AllOnes>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E4M3FNUZ> : NarrowScalar<NarrowFloat<4, 3, 8, Specials::Fnuz>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E5M2> : NarrowScalar<NarrowFloat<5, 2, 15, Specials::Ieee>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float8E5M2FNUZ> : NarrowScalar<NarrowFloat<5, 2, 16, Specials::Fnuz>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float6E2M3FN> : NarrowScalar<NarrowFloat<2, 3, 1, Specials::None>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float6E3M2FN> : NarrowScalar<NarrowFloat<3, 2, 3, Specials::None>, uint8_t> {};
template <>
struct Scalar<ScalarKind::Float4E2M1FN> : NarrowScalar<NarrowFloat<2, 1, 1, Specials::None>, uint8_t> {};

template <>
struct Scalar<ScalarKind::Float8E8M0FNU> {
    VIA_SCALAR static float decode(uint8_t bits) { return decode_power(bits); }
    template <class Wide>
    VIA_SCALAR static uint8_t encode(Wide value, bool saturates) {
        return static_cast<uint8_t>(encode_power(for_rounding(value), saturates));
    }
};

// The bits of both parts, but for their signs, are zero in a number that is zero.
template <>
struct Scalar<ScalarKind::Complex32> {
    VIA_SCALAR static int32_t decode(uint32_t bits) { return (bits & 0x7FFF7FFFU) != 0 ? 1 : 0; }
    template <class Wide>
    VIA_SCALAR static uint32_t encode(Wide value, bool saturates) {
        return Scalar<ScalarKind::Float16>::encode(value, saturates);
    }
};
template <>
struct Scalar<ScalarKind::Complex64> {
    VIA_SCALAR static int32_t decode(uint64_t bits) { return (bits & 0x7FFFFFFF7FFFFFFFU) != 0 ? 1 : 0; }
    template <class Wide>
    VIA_SCALAR static uint64_t encode(Wide value, bool saturates) {
        return Scalar<ScalarKind::Float32>::encode(value, saturates);
    }
};
template <>
struct Scalar<ScalarKind::Complex128> {
    VIA_SCALAR static int32_t decode(const Bits16 &bits) {
        return ((bits.parts[0] | bits.parts[1]) & 0x7FFFFFFFFFFFFFFFU) != 0 ? 1 : 0;
    }
    template <class Wide>
    VIA_SCALAR static Bits16 encode(Wide value, bool saturates) {
        return {{Scalar<ScalarKind::Float64>::encode(value, saturates), 0}};
    }
};

}  // namespace
}  // namespace via
