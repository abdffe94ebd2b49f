// The conversions themselves: loops that compilers make vectors of. The file that includes this is compiled for one
// instruction set. All of it has internal linkage, and it uses nothing that has not.
#pragma once

#include <cstddef>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "copy/convert/convert_kernels.hpp"
#include "copy/plan/cache_sizes.hpp"
#include "core/layout/convert_scalar.hpp"

namespace via {
namespace {

template <class T>
[[gnu::always_inline]] inline T element_at(const void *start, int64_t index) {
    T value;
    __builtin_memcpy(&value, static_cast<const char *>(start) + index * static_cast<int64_t>(sizeof(T)), sizeof value);
    return value;
}

template <class T>
[[gnu::always_inline]] inline void put_element(void *start, int64_t index, const T &value) {
    __builtin_memcpy(static_cast<char *>(start) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof value);
}

template <ScalarKind kSrc>
void decode_run(void *wide, const void *src, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        put_element<ScalarWide<kSrc>>(wide, i, Scalar<kSrc>::decode(element_at<ScalarBits<kSrc>>(src, i)));
    }
}

#if defined(__AVX2__)

// Cut floats off, within limits. maxps and maxpd answer the second number where the first is NaN; compilers do not find
// that by themselves.
[[gnu::always_inline]] inline __m256i cut_off(__m256 values, double least, double most) {
    const __m256 above = _mm256_max_ps(values, _mm256_set1_ps(static_cast<float>(least)));
    const __m256 inside = _mm256_min_ps(above, _mm256_set1_ps(static_cast<float>(most)));
    return _mm256_cvttps_epi32(_mm256_and_ps(inside, _mm256_cmp_ps(values, values, _CMP_ORD_Q)));
}
[[gnu::always_inline]] inline __m128i cut_off(__m256d values, double least, double most) {
    const __m256d above = _mm256_max_pd(values, _mm256_set1_pd(least));
    const __m256d inside = _mm256_min_pd(above, _mm256_set1_pd(most));
    return _mm256_cvttpd_epi32(_mm256_and_pd(inside, _mm256_cmp_pd(values, values, _CMP_ORD_Q)));
}

// Eight of them. Limits of 32 bits are no float32.
template <bool kByFours>
[[gnu::always_inline]] inline __m256i cut_eight(const float *values, double least, double most) {
    if constexpr (kByFours) {
        const __m256d low = _mm256_cvtps_pd(element_at<__m128>(values, 0));
        const __m256d high = _mm256_cvtps_pd(element_at<__m128>(values, 1));
        return _mm256_set_m128i(cut_off(high, least, most), cut_off(low, least, most));
    } else {
        return cut_off(element_at<__m256>(values, 0), least, most);
    }
}
template <bool kByFours>
[[gnu::always_inline]] inline __m256i cut_eight(const double *values, double least, double most) {
    return _mm256_set_m128i(cut_off(element_at<__m256d>(values, 1), least, most),
                            cut_off(element_at<__m256d>(values, 0), least, most));
}

template <ScalarKind kDst, class Wide>
constexpr bool kIsCutOff = std::is_floating_point_v<Wide> && ((kDst >= ScalarKind::Int8 && kDst <= ScalarKind::Int32) ||
                                                              kDst == ScalarKind::UInt8 || kDst == ScalarKind::UInt16);

// Encodes most floats as integers of 32 bits or fewer. Returns how many.
template <ScalarKind kDst, class Wide>
int64_t encode_cut_off(void *dst, const void *wide, int64_t count) {
    constexpr int64_t kSome = 64;
    constexpr bool is_signed = kDst <= ScalarKind::Int32;
    constexpr auto kValues = static_cast<double>(int64_t{1} << (8 * kBytesOf<kDst>));
    constexpr double kLeast = is_signed ? -kValues / 2 : 0;
    constexpr double kMost = kLeast + kValues - 1;
    alignas(kLineBytes) int32_t numbers[kSome];
    const int64_t whole = count / kSome * kSome;
    for (int64_t i = 0; i < whole; i += kSome) {
        const Wide *from = static_cast<const Wide *>(wide) + i;
        for (int64_t k = 0; k < kSome; k += 8) {
            put_element(numbers + k, 0, cut_eight<kBytesOf<kDst> == 4>(from + k, kLeast, kMost));
        }
        for (int64_t k = 0; k < kSome; ++k) {
            put_element(dst, i + k, static_cast<ScalarBits<kDst>>(numbers[k]));
        }
    }
    return whole;
}

#endif

template <ScalarKind kDst, WideKind kWide>
void encode_run(void *dst, const void *wide, int64_t count, bool saturates) {
    using Wide = WideType<kWide>;
    int64_t i = 0;
#if defined(__AVX2__)
    if constexpr (kIsCutOff<kDst, Wide>) {
        i = encode_cut_off<kDst, Wide>(dst, wide, count);
    }
#endif
    for (; i < count; ++i) {
        put_element<ScalarBits<kDst>>(dst, i, Scalar<kDst>::encode(element_at<Wide>(wide, i), saturates));
    }
}

template <ScalarKind kDst, ScalarKind kSrc>
[[gnu::always_inline]] inline void convert_directly(void *dst, const void *src, int64_t count, bool saturates) {
    int64_t i = 0;
#if defined(__AVX2__)
    if constexpr (kSrc == ScalarKind::Float32 && kIsCutOff<kDst, float>) {
        i = encode_cut_off<kDst, float>(dst, src, count);
    }
#endif
#if defined(__F16C__) && defined(__AVX__)
    if constexpr (kDst == ScalarKind::Float16 && kSrc == ScalarKind::Float32) {
        for (; i + 8 <= count; i += 8) {
            put_element(static_cast<char *>(dst) + 2 * i, 0,
                        _mm256_cvtps_ph(element_at<__m256>(static_cast<const char *>(src) + 4 * i, 0), 0));
        }
    } else if constexpr (kDst == ScalarKind::Float32 && kSrc == ScalarKind::Float16) {
        for (; i + 8 <= count; i += 8) {
            put_element(static_cast<char *>(dst) + 4 * i, 0,
                        _mm256_cvtph_ps(element_at<__m128i>(static_cast<const char *>(src) + 2 * i, 0)));
        }
    }
#endif
    for (; i < count; ++i) {
        const auto wide = Scalar<kSrc>::decode(element_at<ScalarBits<kSrc>>(src, i));
        put_element<ScalarBits<kDst>>(dst, i, Scalar<kDst>::encode(wide, saturates));
    }
}

template <ScalarKind kDst, ScalarKind kSrc>
void convert_run_directly(void *dst, const void *src, int64_t count, bool saturates) {
    convert_directly<kDst, kSrc>(dst, src, count, saturates);
}

[[gnu::always_inline]] inline void stream_lines(void *dst, const void *lines, int64_t nbytes) {
#if defined(__x86_64__)
    for (int64_t i = 0; i < nbytes / 16; ++i) {
        _mm_stream_si128(static_cast<__m128i *>(dst) + i, element_at<__m128i>(lines, i));
    }
#else
    __builtin_memcpy(dst, lines, static_cast<size_t>(nbytes));
#endif
}

// A few lines of dst at a time, so that reads go on while stores drain. What comes next is read ahead: the processor
// alone reads ahead too little where more is read than written.
template <ScalarKind kDst, ScalarKind kSrc>
void convert_run_streaming(void *dst, const void *src, int64_t count, bool saturates) {
    constexpr int64_t kAhead = 2048;
    constexpr int64_t kPart = 4 * kLineBytes;
    constexpr int64_t kElements = kPart / kBytesOf<kDst>;
    alignas(kLineBytes) char lines[kPart];
    auto *to = static_cast<char *>(dst);
    const auto *from = static_cast<const char *>(src);
    for (; count >= kElements; count -= kElements) {
        for (int64_t i = 0; i < kElements * kBytesOf<kSrc>; i += kLineBytes) {
            __builtin_prefetch(from + i + kAhead);
        }
        convert_directly<kDst, kSrc>(lines, from, kElements, saturates);
        stream_lines(to, lines, kPart);
        to += kPart;
        from += kElements * kBytesOf<kSrc>;
    }
    convert_run_directly<kDst, kSrc>(to, from, count, saturates);
}

template <class T>
void swap_run(void *dst, const void *src, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const T value = element_at<T>(src, i);
        if constexpr (sizeof(T) == 2) {
            put_element<T>(dst, i, __builtin_bswap16(value));
        } else if constexpr (sizeof(T) == 4) {
            put_element<T>(dst, i, __builtin_bswap32(value));
        } else {
            put_element<T>(dst, i, __builtin_bswap64(value));
        }
    }
}

inline void affine_run(void *dst, const void *src, int64_t count, const float *scales, const float *offsets,
                       bool by_number) {
    if (by_number) {
        for (int64_t i = 0; i < count; ++i) {
            put_element<float>(dst, i, scaled(element_at<float>(src, i), scales[i], offsets[i]));
        }
        return;
    }
    const float scale = *scales;
    const float offset = *offsets;
    for (int64_t i = 0; i < count; ++i) {
        put_element<float>(dst, i, scaled(element_at<float>(src, i), scale, offset));
    }
}

// Pairs that models and images are made of, and those of small integers. Integers are of few kinds: see in_few_kinds.
#define VIA_COMMON_PAIRS(PAIR)  \
    PAIR(UInt8, Bool)           \
    PAIR(UInt16, Bool)          \
    PAIR(UInt64, Bool)          \
    PAIR(Float32, Bool)         \
    PAIR(Float64, Bool)         \
    PAIR(Bool, Int8)            \
    PAIR(Bool, UInt8)           \
    PAIR(Bool, Int16)           \
    PAIR(Bool, UInt16)          \
    PAIR(UInt16, Int8)          \
    PAIR(UInt16, UInt8)         \
    PAIR(UInt64, Int8)          \
    PAIR(UInt64, UInt8)         \
    PAIR(UInt64, Int16)         \
    PAIR(UInt64, UInt16)        \
    PAIR(UInt8, Int16)          \
    PAIR(Float64, Int8)         \
    PAIR(Float64, UInt8)        \
    PAIR(Float64, Int16)        \
    PAIR(Float64, UInt16)       \
    PAIR(Float32, Float64)      \
    PAIR(Float64, Float32)      \
    PAIR(Float16, Float32)      \
    PAIR(Float32, Float16)      \
    PAIR(BFloat16, Float32)     \
    PAIR(Float32, BFloat16)     \
    PAIR(Float8E4M3FN, Float32) \
    PAIR(Float32, UInt8)        \
    PAIR(Float16, UInt8)        \
    PAIR(Float32, Int8)         \
    PAIR(Float32, Int16)        \
    PAIR(Float32, UInt16)       \
    PAIR(Float32, Int32)        \
    PAIR(Int32, Float32)        \
    PAIR(UInt8, Float32)        \
    PAIR(UInt32, Int64)         \
    PAIR(UInt64, Int32)

inline DirectRuns find_direct(ScalarKind dst, ScalarKind src) {
#define VIA_DIRECT(to, from)                                              \
    if (dst == ScalarKind::to && src == ScalarKind::from) {               \
        return {convert_run_directly<ScalarKind::to, ScalarKind::from>,   \
                convert_run_streaming<ScalarKind::to, ScalarKind::from>}; \
    }
    VIA_COMMON_PAIRS(VIA_DIRECT)
#undef VIA_DIRECT
    return {};
}

template <int... kKinds>
constexpr ConvertKernels make_conversions(const char *name, std::integer_sequence<int, kKinds...>) noexcept {
    return {name,
            {decode_run<ScalarKind{kKinds}>...},
            {{encode_run<ScalarKind{kKinds}, WideKind::Int32>...},
             {encode_run<ScalarKind{kKinds}, WideKind::Int64>...},
             {encode_run<ScalarKind{kKinds}, WideKind::UInt64>...},
             {encode_run<ScalarKind{kKinds}, WideKind::Float32>...},
             {encode_run<ScalarKind{kKinds}, WideKind::Float64>...}},
            find_direct,
            {swap_run<uint16_t>, swap_run<uint32_t>, swap_run<uint64_t>},
            affine_run};
}

constexpr ConvertKernels make_conversions(const char *name) noexcept {
    return make_conversions(name, std::make_integer_sequence<int, kScalarKinds>{});
}

}  // namespace
}  // namespace via
