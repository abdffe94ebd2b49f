#include "core/layout/dtype.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "core/base/text_scanner.hpp"

namespace via {
namespace {

// NumPy's order of kinds, which same_kind goes up by. None: no conversion knows it.
enum class Rank : int32_t { None, Bool, Unsigned, Signed, Float, Complex };

// What a kind holds. Integers have `precision` bits besides their sign. Floats have the bit 2^least to the bit
// 2^greatest, and `precision` of them at a time.
struct Values {
    ScalarKind kind;
    Rank rank;
    int32_t precision;
    int32_t greatest;
    int32_t least;
    bool infinity;
    bool nan;
    bool negative_zero;
    bool zero;
};

constexpr Values integer(ScalarKind kind, Rank rank, int32_t precision) {
    const int32_t greatest = rank == Rank::Signed ? precision : precision - 1;  // of the least number
    return {kind, rank, precision, greatest, 0, false, false, false, true};
}

// With a sign, and with NaN wherever there is an infinity.
constexpr Values floating(ScalarKind kind, int32_t precision, int32_t greatest, int32_t least) {
    return {kind, Rank::Float, precision, greatest, least, true, true, true, true};
}

// All scalar types: NumPy's name if it has one, otherwise that of ml_dtypes, and what conversions know of it.
struct ScalarType {
    int32_t scalar;  // code | bits << 8 of the dtype
    const char *name;
    Values values;
};

constexpr ScalarType kTypes[] = {
    {0x0100, "int1", {}},
    {0x0200, "int2", {}},
    {0x0400, "int4", integer(ScalarKind::Int4, Rank::Signed, 3)},
    {0x0800, "int8", integer(ScalarKind::Int8, Rank::Signed, 7)},
    {0x1000, "int16", integer(ScalarKind::Int16, Rank::Signed, 15)},
    {0x2000, "int32", integer(ScalarKind::Int32, Rank::Signed, 31)},
    {0x4000, "int64", integer(ScalarKind::Int64, Rank::Signed, 63)},
    {0x0101, "uint1", {}},
    {0x0201, "uint2", {}},
    {0x0401, "uint4", integer(ScalarKind::UInt4, Rank::Unsigned, 4)},
    {0x0801, "uint8", integer(ScalarKind::UInt8, Rank::Unsigned, 8)},
    {0x1001, "uint16", integer(ScalarKind::UInt16, Rank::Unsigned, 16)},
    {0x2001, "uint32", integer(ScalarKind::UInt32, Rank::Unsigned, 32)},
    {0x4001, "uint64", integer(ScalarKind::UInt64, Rank::Unsigned, 64)},
    {0x1002, "float16", floating(ScalarKind::Float16, 11, 15, -24)},
    {0x2002, "float32", floating(ScalarKind::Float32, 24, 127, -149)},
    {0x4002, "float64", floating(ScalarKind::Float64, 53, 1023, -1074)},
    {0x8002, "float128", {}},
    {0x0803, "opaque8", {}},
    {0x1003, "opaque16", {}},
    {0x2003, "opaque32", {}},
    {0x4003, "opaque64", {}},
    {0x8003, "opaque128", {}},
    {0x1004, "bfloat16", floating(ScalarKind::BFloat16, 8, 127, -133)},
    {0x2005, "complex32", {ScalarKind::Complex32, Rank::Complex, 11, 15, -24, true, true, true, true}},
    {0x4005, "complex64", {ScalarKind::Complex64, Rank::Complex, 24, 127, -149, true, true, true, true}},
    {0x8005, "complex128", {ScalarKind::Complex128, Rank::Complex, 53, 1023, -1074, true, true, true, true}},
    {0x0806, "bool", integer(ScalarKind::Bool, Rank::Bool, 1)},
    {0x0807, "float8_e3m4", floating(ScalarKind::Float8E3M4, 5, 3, -6)},
    {0x0808, "float8_e4m3", floating(ScalarKind::Float8E4M3, 4, 7, -9)},
    {0x0809, "float8_e4m3b11fnuz", {ScalarKind::Float8E4M3B11FNUZ, Rank::Float, 4, 4, -13, false, true, false, true}},
    {0x080A, "float8_e4m3fn", {ScalarKind::Float8E4M3FN, Rank::Float, 4, 8, -9, false, true, true, true}},
    {0x080B, "float8_e4m3fnuz", {ScalarKind::Float8E4M3FNUZ, Rank::Float, 4, 7, -10, false, true, false, true}},
    {0x080C, "float8_e5m2", floating(ScalarKind::Float8E5M2, 3, 15, -16)},
    {0x080D, "float8_e5m2fnuz", {ScalarKind::Float8E5M2FNUZ, Rank::Float, 3, 15, -17, false, true, false, true}},
    {0x080E, "float8_e8m0fnu", {ScalarKind::Float8E8M0FNU, Rank::Float, 1, 127, -127, false, true, false, false}},
    {0x060F, "float6_e2m3fn", {ScalarKind::Float6E2M3FN, Rank::Float, 4, 2, -3, false, false, true, true}},
    {0x0610, "float6_e3m2fn", {ScalarKind::Float6E3M2FN, Rank::Float, 3, 4, -4, false, false, true, true}},
    {0x0411, "float4_e2m1fn", {ScalarKind::Float4E2M1FN, Rank::Float, 2, 2, -1, false, false, true, true}},
};
static_assert(std::ranges::count_if(kTypes, [](const ScalarType &type) { return type.values.rank != Rank::None; }) ==
              kScalarKinds);

constexpr char kRecordPrefix[] = "record";

// Returns nullptr for a record too.
const ScalarType *find_type(int32_t dtype) {
    const auto *found = std::ranges::find(kTypes, dtype & 0xFFFF, &ScalarType::scalar);
    return dtype_is_record(dtype) || found == std::end(kTypes) ? nullptr : found;
}

// Parses a decimal number from 1 to `most`; 0 for anything else.
int64_t parse_count(const char *text, int64_t most) {
    int64_t value = 0;
    const size_t length = count_prefix(text, &value);
    return length > 0 && text[length] == '\0' && value <= most ? value : 0;
}

}  // namespace

bool dtype_is_any(int32_t dtype) {
    if (dtype_is_record(dtype)) {
        return -int64_t{dtype} <= kMaxRecordBytes;
    }
    const int32_t lanes = dtype_lanes(dtype);
    return lanes >= 1 && lanes <= kMaxLanes && find_type(dtype) != nullptr;
}

Status refuse_dtype(const char *argument, int32_t dtype) {
    if (dtype_is_record(dtype)) {
        return fail(VIA_ERROR_DTYPE, "%s is a record of %lld bytes; expected at most %lld bytes", argument,
                    -as_printed(dtype), as_printed(kMaxRecordBytes));
    }
    return fail(VIA_ERROR_DTYPE,
                "%s is 0x%08x (code %d, %d bits, %d lanes); expected code | bits << 8 | lanes << 16 of DLPack 1.3, or "
                "a negative record size",
                argument, static_cast<unsigned>(dtype), dtype_code(dtype), dtype_scalar_bits(dtype),
                dtype_lanes(dtype));
}

int64_t alignment_of_any(int32_t dtype) {
    if (dtype_is_record(dtype)) {
        return 1;
    }
    const int32_t bytes = dtype_scalar_bits(dtype) / 8;
    const int32_t scalar = dtype_code(dtype) == static_cast<int32_t>(Code::Complex) ? bytes / 2 : bytes;
    return std::has_single_bit(static_cast<uint32_t>(scalar)) ? scalar : 1;
}

const char *dtype_name(int32_t dtype, char *name) {
    if (!dtype_is_valid(dtype)) {
        std::snprintf(name, kDtypeNameCapacity, "dtype 0x%08x", static_cast<unsigned>(dtype));
        return name;
    }
    if (dtype_is_record(dtype)) {
        std::snprintf(name, kDtypeNameCapacity, "%s%lld", kRecordPrefix, -as_printed(dtype));
        return name;
    }
    const char *scalar = find_type(dtype)->name;
    const int32_t lanes = dtype_lanes(dtype);
    if (lanes == 1) {
        std::snprintf(name, kDtypeNameCapacity, "%s", scalar);
    } else {
        std::snprintf(name, kDtypeNameCapacity, "%sx%d", scalar, lanes);
    }
    return name;
}

int32_t dtype_from_name(const char *name) {
    if (std::strncmp(name, kRecordPrefix, std::strlen(kRecordPrefix)) == 0) {
        return static_cast<int32_t>(-parse_count(name + std::strlen(kRecordPrefix), kMaxRecordBytes));
    }
    for (const ScalarType &named : kTypes) {
        const size_t length = std::strlen(named.name);
        if (std::strncmp(name, named.name, length) != 0) {
            continue;
        }
        if (name[length] == '\0') {
            return named.scalar | 1 << 16;
        }
        if (name[length] == 'x') {
            const auto lanes = static_cast<int32_t>(parse_count(name + length + 1, kMaxLanes));
            return lanes > 1 ? named.scalar | lanes << 16 : 0;
        }
    }
    return 0;
}

namespace {

constexpr char kHostOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

// NumPy has no name for complex32. Its "<f16" is longdouble: x87 on some machines, two doubles on others, and
// binary128, which float128 is everywhere, on few.
constexpr int32_t kFloat128 = pack_dtype(static_cast<int32_t>(Code::Float), 128, 1);
bool is_unknown_to_numpy(int32_t dtype) { return dtype == VIA_COMPLEX32 || dtype == kFloat128; }

struct Kind {
    char letter;
    Code code;
};

constexpr Kind kKinds[] = {{'i', Code::Int},     {'u', Code::UInt}, {'f', Code::Float},
                           {'c', Code::Complex}, {'b', Code::Bool}, {'V', Code::Opaque}};

// Avoids printf, which would take longer than the rest of a description.
void write_typestr(char order, char letter, int64_t bytes, char *typestr) {
    typestr[0] = order;
    typestr[1] = letter;
    *std::to_chars(typestr + 2, typestr + kTypestrCapacity - 1, bytes).ptr = '\0';
}

const char *check_byte_order(const char *typestr, int64_t bytes) {
    const char order = typestr[0];
    if (order != '<' && order != '>' && order != '|') {
        return "'<', '>' or '|' first";
    }
    return bytes > 1 && order != kHostOrder && typestr[1] != 'V' ? "this machine's byte order" : nullptr;
}

}  // namespace

bool typestr_of(int32_t dtype, char *out_typestr) {
    if (dtype_is_record(dtype)) {
        write_typestr('|', 'V', -int64_t{dtype}, out_typestr);
        return true;
    }
    if (dtype_lanes(dtype) != 1 || dtype_bits(dtype) % 8 != 0 || is_unknown_to_numpy(dtype)) {
        return false;
    }
    for (const Kind &kind : kKinds) {
        if (dtype_code(dtype) == static_cast<int32_t>(kind.code) && kind.code != Code::Opaque) {
            const int64_t bytes = dtype_bits(dtype) / 8;
            write_typestr(bytes == 1 ? '|' : kHostOrder, kind.letter, bytes, out_typestr);
            return true;
        }
    }
    return false;
}

const char *dtype_of_typestr(const char *typestr, int32_t *out_dtype) {
    const bool has_kind = typestr[0] != '\0' && typestr[1] != '\0';
    const auto *kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const Kind &each) { return has_kind && each.letter == typestr[1]; });
    char *end = nullptr;
    const long long bytes = has_kind ? std::strtoll(typestr + 2, &end, 10) : 0;
    if (kind == std::end(kKinds) || bytes < 1 || bytes > kMaxRecordBytes || *end != '\0' || typestr[2] < '0' ||
        typestr[2] > '9') {
        return "byte order, one of i u f c b V, and a number of bytes";
    }
    if (const char *expected = check_byte_order(typestr, bytes); expected != nullptr) {
        return expected;
    }
    if (kind->letter == 'V') {
        *out_dtype = static_cast<int32_t>(-bytes);
        return nullptr;
    }
    *out_dtype = pack_dtype(static_cast<int32_t>(kind->code), static_cast<int32_t>(std::min(bytes, 31LL)) * 8, 1);
    if (*out_dtype == kFloat128) {
        return "no longdouble, whose bits differ between machines";
    }
    return dtype_is_valid(*out_dtype) && *out_dtype != VIA_COMPLEX32 ? nullptr : "a size that the kind has";
}

namespace {

// Returns nullptr for a dtype that no conversion knows.
const Values *find_values(int32_t dtype) {
    const ScalarType *type = find_type(dtype);
    return type != nullptr && type->values.rank != Rank::None ? &type->values : nullptr;
}

bool is_integer(const Values &values) { return values.rank <= Rank::Signed; }

// NumPy calls 64-bit integers to float64 safe, though it rounds them.
bool is_numpy_exception(const Values &from, const Values &to) {
    return is_integer(from) && from.precision >= 63 && to.precision == 53;
}

// Returns whether every value of one is a value of the other.
bool holds_all(const Values &from, const Values &to) {
    if (from.kind == to.kind || is_numpy_exception(from, to)) {
        return true;
    }
    if (from.rank > to.rank && (from.rank == Rank::Complex || is_integer(to))) {
        return false;
    }
    return from.precision <= to.precision && from.greatest <= to.greatest && from.least >= to.least &&
           from.infinity <= to.infinity && from.nan <= to.nan && from.negative_zero <= to.negative_zero &&
           from.zero <= to.zero;
}

constexpr const char *kRules[] = {"same_kind", "safe", "equiv", "unsafe"};

}  // namespace

bool find_scalar_kind(int32_t dtype, ScalarKind *out_kind) {
    const Values *values = find_values(dtype);
    if (values == nullptr) {
        return false;
    }
    *out_kind = values->kind;
    return true;
}

ScalarKind part_of_complex(ScalarKind kind) {
    return kind == ScalarKind::Complex32   ? ScalarKind::Float16
           : kind == ScalarKind::Complex64 ? ScalarKind::Float32
                                           : ScalarKind::Float64;
}

bool can_cast(int32_t from, int32_t to, int32_t casting) {
    if (from == to) {
        return dtype_is_valid(from);
    }
    const Values *source = find_values(from);
    const Values *target = find_values(to);
    if (source == nullptr || target == nullptr || !dtype_is_valid(from) || !dtype_is_valid(to) ||
        dtype_lanes(from) != dtype_lanes(to)) {
        return false;
    }
    switch (casting) {
        case VIA_CASTING_EQUIV:
            return false;
        case VIA_CASTING_SAFE:
            return holds_all(*source, *target);
        case VIA_CASTING_SAME_KIND:
            return source->rank <= target->rank || holds_all(*source, *target);
        default:
            return casting == VIA_CASTING_UNSAFE;
    }
}

Status check_casting(int32_t casting) {
    if (casting >= 0 && casting < static_cast<int32_t>(std::size(kRules))) {
        return VIA_OK;
    }
    return fail(VIA_ERROR_INVALID_ARGUMENT,
                "options.casting is %d; expected VIA_CASTING_SAME_KIND, _SAFE, _EQUIV or _UNSAFE", casting);
}

Status check_cast(int32_t from, int32_t to, int32_t casting) {
    if (can_cast(from, to, casting)) {
        return VIA_OK;
    }
    for (const int32_t other : {VIA_CASTING_SAFE, VIA_CASTING_SAME_KIND, VIA_CASTING_UNSAFE}) {
        if (can_cast(from, to, other)) {
            return fail(VIA_ERROR_DTYPE, "casting is %s, which does not take %s to %s; expected %s", kRules[casting],
                        DtypeName(from).text, DtypeName(to).text, kRules[other]);
        }
    }
    return fail(
        VIA_ERROR_DTYPE,
        "src has dtype %s and dst %s, which no casting converts; expected booleans, integers, floats or complex "
        "numbers, of as many lanes",
        DtypeName(from).text, DtypeName(to).text);
}

}  // namespace via
