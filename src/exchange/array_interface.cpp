#include "exchange/array_interface.hpp"

#include <algorithm>
#include <cstring>

#include "core/layout/typestr.hpp"

namespace via {
namespace {

constexpr int32_t kVersion = 3;
Status dtype_of(const char *typestr, int32_t *out_dtype) {
    const char *expected = dtype_of_typestr(typestr, out_dtype);
    return expected == nullptr ? VIA_OK
                               : fail(VIA_ERROR_DTYPE, "description.typestr is \"%s\"; expected %s", typestr, expected);
}

}  // namespace

Status describe_interface(via_array *array, via_array_interface *description) {
    if (!typestr_of(array->dtype, description->typestr)) {
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
