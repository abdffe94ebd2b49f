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

struct Named {
    int32_t scalar;  // code | bits << 8
    const char *name;
};

// All scalar types: NumPy's name if it has one, otherwise that of ml_dtypes.
constexpr Named kNames[] = {
    {0x0100, "int1"},
    {0x0200, "int2"},
    {0x0400, "int4"},
    {0x0800, "int8"},
    {0x1000, "int16"},
    {0x2000, "int32"},
    {0x4000, "int64"},
    {0x0101, "uint1"},
    {0x0201, "uint2"},
    {0x0401, "uint4"},
    {0x0801, "uint8"},
    {0x1001, "uint16"},
    {0x2001, "uint32"},
    {0x4001, "uint64"},
    {0x1002, "float16"},
    {0x2002, "float32"},
    {0x4002, "float64"},
    {0x8002, "float128"},
    {0x0803, "opaque8"},
    {0x1003, "opaque16"},
    {0x2003, "opaque32"},
    {0x4003, "opaque64"},
    {0x8003, "opaque128"},
    {0x1004, "bfloat16"},
    {0x2005, "complex32"},
    {0x4005, "complex64"},
    {0x8005, "complex128"},
    {0x0806, "bool"},
    {0x0807, "float8_e3m4"},
    {0x0808, "float8_e4m3"},
    {0x0809, "float8_e4m3b11fnuz"},
    {0x080A, "float8_e4m3fn"},
    {0x080B, "float8_e4m3fnuz"},
    {0x080C, "float8_e5m2"},
    {0x080D, "float8_e5m2fnuz"},
    {0x080E, "float8_e8m0fnu"},
    {0x060F, "float6_e2m3fn"},
    {0x0610, "float6_e3m2fn"},
    {0x0411, "float4_e2m1fn"},
};

constexpr char kRecordPrefix[] = "record";

const char *scalar_name(int32_t scalar) {
    const auto *found =
        std::find_if(std::begin(kNames), std::end(kNames), [&](const Named &named) { return named.scalar == scalar; });
    return found == std::end(kNames) ? nullptr : found->name;
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
    return lanes >= 1 && lanes <= kMaxLanes && scalar_name(dtype & 0xFFFF) != nullptr;
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
    const char *scalar = scalar_name(dtype & 0xFFFF);
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
    for (const Named &named : kNames) {
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

}  // namespace via
