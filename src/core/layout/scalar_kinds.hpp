// The elements that conversions know. Plain numbers only: GPU kernels and files for newer processors include it.
#pragma once

#include <cstdint>

// Every kind: KIND(name, bytes of one element, the wide type that its values are exact in).
#define VIA_SCALAR_KINDS(KIND)          \
    KIND(Bool, 1, Int32)                \
    KIND(Int4, 1, Int32)                \
    KIND(Int8, 1, Int32)                \
    KIND(Int16, 2, Int32)               \
    KIND(Int32, 4, Int32)               \
    KIND(Int64, 8, Int64)               \
    KIND(UInt4, 1, Int32)               \
    KIND(UInt8, 1, Int32)               \
    KIND(UInt16, 2, Int32)              \
    KIND(UInt32, 4, Int64)              \
    KIND(UInt64, 8, UInt64)             \
    KIND(Float16, 2, Float32)           \
    KIND(BFloat16, 2, Float32)          \
    KIND(Float32, 4, Float32)           \
    KIND(Float64, 8, Float64)           \
    KIND(Float8E3M4, 1, Float32)        \
    KIND(Float8E4M3, 1, Float32)        \
    KIND(Float8E4M3B11FNUZ, 1, Float32) \
    KIND(Float8E4M3FN, 1, Float32)      \
    KIND(Float8E4M3FNUZ, 1, Float32)    \
    KIND(Float8E5M2, 1, Float32)        \
    KIND(Float8E5M2FNUZ, 1, Float32)    \
    KIND(Float8E8M0FNU, 1, Float32)     \
    KIND(Float6E2M3FN, 1, Float32)      \
    KIND(Float6E3M2FN, 1, Float32)      \
    KIND(Float4E2M1FN, 1, Float32)      \
    KIND(Complex32, 4, Int32)           \
    KIND(Complex64, 8, Int32)           \
    KIND(Complex128, 16, Int32)

namespace via {

// Complex numbers are converted part by part. Their own kinds are for what is left: as a source, whether an element is
// not zero; as a destination, a real number and an imaginary part of zero.
enum class ScalarKind : uint8_t {
#define VIA_KIND(name, bytes, wide) name,
    VIA_SCALAR_KINDS(VIA_KIND)
#undef VIA_KIND
};

// Between a source and a destination every value is of one of these.
enum class WideKind : uint8_t { Int32, Int64, UInt64, Float32, Float64 };

inline constexpr int32_t kScalarKinds = 29;
inline constexpr int32_t kWideKinds = 5;

inline constexpr uint8_t kScalarBytes[] = {
#define VIA_BYTES(name, bytes, wide) bytes,
    VIA_SCALAR_KINDS(VIA_BYTES)
#undef VIA_BYTES
};
static_assert(sizeof kScalarBytes == kScalarKinds);

inline constexpr WideKind kWideOf[] = {
#define VIA_WIDE(name, bytes, wide) WideKind::wide,
    VIA_SCALAR_KINDS(VIA_WIDE)
#undef VIA_WIDE
};

// What numbers are multiplied by, and what is added then, in float32: one pair, or one for each index of an axis.
struct AffineStep {
    const float *scales;
    const float *offsets;
};

// How one element becomes another.
struct ElementConversion {
    ScalarKind dst;
    ScalarKind src;
    uint8_t swap_bytes;                  // of each part of a source in the other byte order; 0: it is in this machine's
    bool saturates;                      // floats that overflow float8 become its largest number, not infinity or NaN
    const AffineStep *affine = nullptr;  // nullptr: numbers stay as they are
};

constexpr int32_t bytes_of(ScalarKind kind) { return kScalarBytes[static_cast<int32_t>(kind)]; }
constexpr WideKind wide_of(ScalarKind kind) { return kWideOf[static_cast<int32_t>(kind)]; }

// Returns the kind whose elements are copied as they are.
constexpr ScalarKind raw_kind(int32_t bytes) {
    return bytes == 1   ? ScalarKind::UInt8
           : bytes == 2 ? ScalarKind::UInt16
           : bytes == 4 ? ScalarKind::UInt32
                        : ScalarKind::UInt64;
}

// Returns a conversion of elements to the same ones.
constexpr ElementConversion unchanged(int32_t bytes) { return {raw_kind(bytes), raw_kind(bytes), 0, false}; }

constexpr bool changes_nothing(const ElementConversion &elements) {
    return elements.dst == elements.src && elements.swap_bytes == 0 && elements.affine == nullptr;
}

}  // namespace via
