#include "exchange/array_interface.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace via {
namespace {

constexpr int32_t kVersion = 3;
constexpr char kHostOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

struct Kind {
    char letter;
    Code code;
};

constexpr Kind kKinds[] = {{'i', Code::Int},     {'u', Code::UInt}, {'f', Code::Float},
                           {'c', Code::Complex}, {'b', Code::Bool}, {'V', Code::Opaque}};

// Without printf, which takes longer than all else that a description needs.
void write_typestr(char order, char letter, int64_t bytes, via_array_interface *description) {
    char *end = std::end(description->typestr) - 1;
    description->typestr[0] = order;
    description->typestr[1] = letter;
    *std::to_chars(description->typestr + 2, end, bytes).ptr = '\0';
}

// The typestr of a dtype (array interface protocol, version 3: byte order, kind, bytes); false if it has none.
bool describe_dtype(int32_t dtype, via_array_interface *description) {
    if (dtype_is_record(dtype)) {
        write_typestr('|', 'V', -int64_t{dtype}, description);
        return true;
    }
    // NumPy has no complex number of two halves.
    if (dtype_lanes(dtype) != 1 || dtype_bits(dtype) % 8 != 0 || dtype == VIA_COMPLEX32) {
        return false;
    }
    for (const Kind &kind : kKinds) {
        if (dtype_code(dtype) == static_cast<int32_t>(kind.code) && kind.code != Code::Opaque) {
            const int64_t bytes = dtype_bits(dtype) / 8;
            write_typestr(bytes == 1 ? '|' : kHostOrder, kind.letter, bytes, description);
            return true;
        }
    }
    return false;
}

Status bad_typestr(const char *typestr, const char *expected) {
    return fail(VIA_ERROR_DTYPE, "description.typestr is \"%s\"; expected %s", typestr, expected);
}

Status check_byte_order(const char *typestr, int64_t bytes) {
    const char order = typestr[0];
    if (order != '<' && order != '>' && order != '|') {
        return bad_typestr(typestr, "'<', '>' or '|' first");
    }
    if (bytes > 1 && order != kHostOrder && typestr[1] != 'V') {
        return bad_typestr(typestr, "this machine's byte order");
    }
    return VIA_OK;
}

Status dtype_of(const char *typestr, int32_t *out_dtype) {
    const auto *kind =
        std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind &k) { return k.letter == typestr[1]; });
    char *end = nullptr;
    const long long bytes = typestr[0] == '\0' || typestr[1] == '\0' ? 0 : std::strtoll(typestr + 2, &end, 10);
    if (kind == std::end(kKinds) || bytes < 1 || bytes > kMaxRecordBytes || *end != '\0' || typestr[2] < '0' ||
        typestr[2] > '9') {
        return bad_typestr(typestr, "byte order, one of i u f c b V, and a number of bytes");
    }
    VIA_TRY(check_byte_order(typestr, bytes));
    if (kind->letter == 'V') {
        *out_dtype = static_cast<int32_t>(-bytes);
        return VIA_OK;
    }
    *out_dtype = pack_dtype(static_cast<int32_t>(kind->code), static_cast<int32_t>(std::min(bytes, 31LL)) * 8, 1);
    return dtype_is_valid(*out_dtype) ? VIA_OK : bad_typestr(typestr, "a size that the kind has");
}

}  // namespace

Status describe_interface(via_array *array, via_array_interface *description) {
    if (!describe_dtype(array->dtype, description)) {
        return fail(VIA_ERROR_EXCHANGE,
                    "the array interface has no type for %s; expected a view as an integer type of the same size",
                    DtypeName(array->dtype).text);
    }
    description->version = kVersion;
    description->ndim = array->ndim;
    description->read_only = array->is_read_only() ? 1 : 0;
    description->has_strides = is_contiguous(array, VIA_ORDER_ROW_MAJOR) ? 0 : 1;
    description->address = array->size == 0 ? nullptr : array->data;
    std::copy_n(array->shape(), array->ndim, description->shape);
    std::copy_n(array->byte_strides(), array->ndim, description->strides);
    return VIA_OK;
}

Status read_interface(const via_array_interface &description, ArraySpec *out_spec) {
    if (description.version < 2 || description.version > kVersion) {
        return fail(VIA_ERROR_VERSION, "description.version is %d; expected 2 or %d", description.version, kVersion);
    }
    VIA_TRY(check_rank(description.ndim, description.shape));
    if (std::memchr(description.typestr, '\0', sizeof description.typestr) == nullptr) {
        return fail(VIA_ERROR_DTYPE, "description.typestr does not end; expected a 0 within %zu bytes",
                    sizeof description.typestr);
    }
    VIA_TRY(dtype_of(description.typestr, &out_spec->dtype));
    out_spec->data = description.address;
    out_spec->ndim = description.ndim;
    out_spec->shape = description.shape;
    out_spec->strides = description.strides;
    out_spec->unit = description.has_strides != 0 ? StrideUnit::Bytes : StrideUnit::RowMajor;
    out_spec->flags = description.read_only != 0 ? VIA_ARRAY_READ_ONLY : 0;
    return VIA_OK;
}

}  // namespace via
