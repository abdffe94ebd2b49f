#include "core/layout/typestr.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "core/layout/dtype.hpp"

namespace via {
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
