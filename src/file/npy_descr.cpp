#include "file/npy_descr.hpp"

#include <algorithm>
#include <cstring>

#include "core/array.hpp"
#include "core/checked.hpp"
#include "core/typestr.hpp"

namespace via {
namespace {

// Records in records: NumPy itself gives up long before a stack does.
constexpr int32_t kMostDepth = 32;

Status read_record(LiteralScanner *scanner, int32_t depth, int64_t *out_bytes);

struct Text {
    explicit Text(std::string_view given) {
        const size_t kept = std::min(given.size(), sizeof text - 1);
        std::memcpy(text, given.data(), kept);
        text[kept] = '\0';
    }
    char text[64];
};

Status no_such_type(std::string_view typestr, const char *expected) {
    return fail(VIA_ERROR_DTYPE, "the .npy file has elements of type '%s'; expected %s", Text(typestr).text, expected);
}

// Kinds of NumPy's that are no element type here; nullptr for others.
const char *why_refused(char kind) {
    switch (kind) {
        case 'O':
            return "numbers or records: these are Python objects, pickled";
        case 'S':
        case 'a':
        case 'U':
            return "numbers or records: read text as the raw bytes that it is";
        case 'M':
        case 'm':
            return "numbers or records: read times as raw int64";
        default:
            return nullptr;
    }
}

// "<f4", and "<M8[ns]" with a unit.
Status read_size(std::string_view typestr, int64_t *out_bytes) {
    constexpr std::string_view kOrders = "<>|=";
    constexpr std::string_view kKinds = "biufcSaUVMm?";
    size_t at = 2;
    int64_t bytes = 0;
    while (at < typestr.size() && typestr[at] >= '0' && typestr[at] <= '9' && bytes <= kMaxRecordBytes) {
        bytes = bytes * 10 + (typestr[at++] - '0');
    }
    const bool has_unit = at > 2 && at < typestr.size() && (typestr[1] == 'M' || typestr[1] == 'm') &&
                          typestr[at] == '[' && typestr.back() == ']';
    const bool whole = at > 2 && (at == typestr.size() || has_unit);
    if (!whole || kOrders.find(typestr[0]) == kOrders.npos || kKinds.find(typestr[1]) == kKinds.npos) {
        return no_such_type(typestr, "fields of NumPy's types, such as '<f4', and no Python objects");
    }
    *out_bytes = bytes * (typestr[1] == 'U' ? 4 : 1);
    return VIA_OK;
}

Status check_size(int64_t bytes) {
    return bytes <= kMaxRecordBytes
               ? VIA_OK
               : fail(VIA_ERROR_DTYPE, "the .npy file has records of more than %lld bytes; expected at most that",
                      static_cast<long long>(kMaxRecordBytes));
}

Status read_name(LiteralScanner *scanner) {
    std::string_view name;
    if (!scanner->take('(')) {
        return scanner->read_string(&name);
    }
    VIA_TRY(scanner->read_string(&name));  // its title
    VIA_TRY(scanner->expect(','));
    VIA_TRY(scanner->read_string(&name));
    return scanner->expect(')');
}

Status read_field_type(LiteralScanner *scanner, int32_t depth, int64_t *out_bytes) {
    if (scanner->take('[')) {
        return read_record(scanner, depth + 1, out_bytes);
    }
    std::string_view typestr;
    VIA_TRY(scanner->read_string(&typestr));
    return read_size(typestr, out_bytes);
}

// The extents of a field that is itself an array. Bytes stay within an int64_t: they are below 2^32 before.
Status read_field_shape(LiteralScanner *scanner, int64_t *bytes) {
    int32_t ndim = 0;
    int64_t shape[VIA_MAX_NDIM];
    VIA_TRY(read_shape(scanner, VIA_MAX_NDIM, &ndim, shape));
    for (int32_t i = 0; i < ndim; ++i) {
        VIA_TRY(check_size(std::min(shape[i], kMaxRecordBytes + 1)));
        *bytes *= shape[i];
        VIA_TRY(check_size(*bytes));
    }
    return VIA_OK;
}

Status read_field(LiteralScanner *scanner, int32_t depth, int64_t *out_bytes) {
    VIA_TRY(scanner->expect('('));
    VIA_TRY(read_name(scanner));
    VIA_TRY(scanner->expect(','));
    VIA_TRY(read_field_type(scanner, depth, out_bytes));
    VIA_TRY(check_size(*out_bytes));
    if (!scanner->take(',')) {
        return scanner->expect(')');
    }
    if (scanner->take(')')) {
        return VIA_OK;
    }
    VIA_TRY(read_field_shape(scanner, out_bytes));
    (void)scanner->take(',');
    return scanner->expect(')');
}

// Behind the opening bracket.
Status read_record(LiteralScanner *scanner, int32_t depth, int64_t *out_bytes) {
    if (depth > kMostDepth) {
        return scanner->refuse("records that are not nested so deeply");
    }
    *out_bytes = 0;
    while (!scanner->take(']')) {
        int64_t field = 0;
        VIA_TRY(read_field(scanner, depth, &field));
        *out_bytes += field;
        VIA_TRY(check_size(*out_bytes));
        if (!scanner->take(',')) {
            return scanner->expect(']');
        }
    }
    return VIA_OK;
}

Status read_typestr(LiteralScanner *scanner, int32_t *out_dtype) {
    std::string_view typestr;
    VIA_TRY(scanner->read_string(&typestr));
    const char *expected = typestr.size() < 2 ? nullptr : why_refused(typestr[1]);
    if (expected == nullptr) {
        expected = typestr.size() < kTypestrCapacity && typestr.find('\0') == std::string_view::npos
                       ? dtype_of_typestr(Text(typestr).text, out_dtype)
                       : "a type that NumPy writes, such as '<f4'";
    }
    if (expected != nullptr) {
        return no_such_type(typestr, expected);
    }
    // NumPy's longdouble has the name and the size of a float128, and other bits.
    const bool is_long_double = !dtype_is_record(*out_dtype) && dtype_bits(*out_dtype) == 128 && typestr[1] == 'f';
    return is_long_double ? no_such_type(typestr, "no longdouble, whose bits differ between machines") : VIA_OK;
}

}  // namespace

Status read_descr(LiteralScanner *scanner, int32_t *out_dtype) {
    if (!scanner->take('[')) {
        return read_typestr(scanner, out_dtype);
    }
    int64_t bytes = 0;
    VIA_TRY(read_record(scanner, 0, &bytes));
    if (bytes == 0) {
        return scanner->refuse("a record of at least one byte before it");
    }
    *out_dtype = static_cast<int32_t>(-bytes);
    return VIA_OK;
}

Status read_shape(LiteralScanner *scanner, int32_t most, int32_t *out_ndim, int64_t *out_shape) {
    VIA_TRY(scanner->expect('('));
    *out_ndim = 0;
    while (!scanner->take(')')) {
        if (*out_ndim == most) {
            return fail(VIA_ERROR_SHAPE, "the .npy header has more than %d extents; expected at most that", most);
        }
        VIA_TRY(scanner->read_count(&out_shape[(*out_ndim)++]));
        // One extent alone is a tuple only with its comma.
        if (!scanner->take(',')) {
            return *out_ndim == 1 ? scanner->expect(',') : scanner->expect(')');
        }
    }
    return VIA_OK;
}

}  // namespace via
