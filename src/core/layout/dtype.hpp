// Element types: DLPack's code, bits and lanes packed in an int32_t; a negative one is a record of that many bytes.
// Which of them can be converted to which: NumPy's casting rules, and the kinds of elements that conversions know.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/scalar_kinds.hpp"

namespace via {

// DLDataTypeCode of DLPack 1.3. Restated because core knows no protocol; exchange asserts that they agree.
enum class Code : int32_t {
    Int = 0,
    UInt = 1,
    Float = 2,
    Opaque = 3,
    Bfloat = 4,
    Complex = 5,
    Bool = 6,
    Float8First = 7,
    Float8Last = 14,
    Float6E2M3 = 15,
    Float6E3M2 = 16,
    Float4E2M1 = 17
};

// VIA_BYTE_ORDER_... that is not this machine's.
inline constexpr int32_t kOtherByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? VIA_BYTE_ORDER_BIG : VIA_BYTE_ORDER_LITTLE;
inline constexpr const char *kOtherByteOrderName =
    kOtherByteOrder == VIA_BYTE_ORDER_BIG ? "VIA_BYTE_ORDER_BIG" : "VIA_BYTE_ORDER_LITTLE";

inline constexpr int64_t kMaxRecordBytes = int64_t{1} << 30;
inline constexpr int32_t kMaxLanes = 32767;

constexpr bool dtype_is_record(int32_t dtype) { return dtype < 0; }
constexpr int32_t dtype_code(int32_t dtype) { return dtype & 0xFF; }
constexpr int32_t dtype_scalar_bits(int32_t dtype) { return (dtype >> 8) & 0xFF; }
constexpr int32_t dtype_lanes(int32_t dtype) { return dtype >> 16; }

constexpr int32_t pack_dtype(int32_t code, int32_t bits, int32_t lanes) { return code | bits << 8 | lanes << 16; }

// Returns the bits of one element of a valid dtype.
constexpr int64_t dtype_bits(int32_t dtype) {
    if (dtype_is_record(dtype)) {
        return -int64_t{dtype} * 8;
    }
    return int64_t{dtype_scalar_bits(dtype)} * dtype_lanes(dtype);
}

// Recognises common dtypes without a search: one integer or float of 8 to 64 bits, except float8.
constexpr bool dtype_is_plain(int32_t dtype) {
    const int32_t bits = dtype & 0xFF00;
    return dtype >> 16 == 1 && (bits == 0x2000 || bits == 0x4000 || bits == 0x1000 || bits == 0x0800) &&
           (dtype & 0xFF) <= (bits == 0x0800 ? 1 : 2);
}

// Returns the bytes of `size` adjacent elements of `bits` bits. Cannot overflow for a checked shape: the bits of packed
// elements fit an int64_t, and so do the bytes of others.
constexpr int64_t dense_bytes(int64_t size, int64_t bits) {
    return bits % 8 == 0 ? size * (bits / 8) : size * bits / 8 + (size * bits % 8 != 0 ? 1 : 0);
}

bool dtype_is_any(int32_t dtype);

inline bool dtype_is_valid(int32_t dtype) { return dtype_is_plain(dtype) || dtype_is_any(dtype); }

VIA_NODISCARD Status refuse_dtype(const char *argument, int32_t dtype) __attribute__((cold));

// Checks a dtype. Errors: VIA_ERROR_DTYPE, naming the argument.
VIA_NODISCARD inline Status check_dtype(const char *argument, int32_t dtype) {
    return dtype_is_valid(dtype) ? VIA_OK : refuse_dtype(argument, dtype);
}

int64_t alignment_of_any(int32_t dtype);

// Returns the natural alignment: the bytes of one scalar, of half a complex number; 1 for a record.
inline int64_t dtype_alignment(int32_t dtype) {
    return dtype_is_plain(dtype) ? dtype_scalar_bits(dtype) / 8 : alignment_of_any(dtype);
}

// Room for any dtype's name.
inline constexpr int32_t kDtypeNameCapacity = 32;

// Writes the name of a dtype, or "dtype 0x..." for an invalid one, to name[kDtypeNameCapacity]. Returns name.
const char *dtype_name(int32_t dtype, char *name);

// Returns the dtype of a name; 0 if there is none.
int32_t dtype_from_name(const char *name);

// A dtype's name for one expression: fail(..., DtypeName(dtype).text).
struct DtypeName {
    explicit DtypeName(int32_t dtype) { dtype_name(dtype, text); }
    char text[kDtypeNameCapacity];
};

// Room for any typestr.
inline constexpr int32_t kTypestrCapacity = 16;

// Writes the typestr of a dtype; false if it has none.
bool typestr_of(int32_t dtype, char *out_typestr);

// Finds the dtype of a typestr. Returns nullptr on success, otherwise the text of what was expected.
const char *dtype_of_typestr(const char *typestr, int32_t *out_dtype);

// Finds the kind of one lane of a dtype. Returns false if no conversion knows it.
bool find_scalar_kind(int32_t dtype, ScalarKind *out_kind);

constexpr bool is_complex(ScalarKind kind) { return kind >= ScalarKind::Complex32; }

constexpr bool is_float_kind(ScalarKind kind) {
    return kind >= ScalarKind::Float16 && kind <= ScalarKind::Float4E2M1FN;
}

// Whether it is an integer of whole bytes.
constexpr bool is_whole_integer(ScalarKind kind) {
    return (kind >= ScalarKind::Int8 && kind <= ScalarKind::Int64) ||
           (kind >= ScalarKind::UInt8 && kind <= ScalarKind::UInt64);
}

// Returns the kind of one part of a complex number.
ScalarKind part_of_complex(ScalarKind kind);

// Returns whether a rule (VIA_CASTING_...) allows the conversion. False for dtypes that cannot be converted.
bool can_cast(int32_t from, int32_t to, int32_t casting);

// Errors: VIA_ERROR_INVALID_ARGUMENT for a number that is no rule.
VIA_NODISCARD Status check_casting(int32_t casting);

// Refuses what the rule does not allow, and names the rule that does. Errors: VIA_ERROR_DTYPE.
VIA_NODISCARD Status check_cast(int32_t from, int32_t to, int32_t casting);

}  // namespace via
