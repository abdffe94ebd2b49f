#include "exchange/array_interface.hpp"

#include <algorithm>
#include <cstring>

#include "core/layout/dtype.hpp"
#include "cuda/device.hpp"
#include "cuda/pointer_attributes.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"

namespace via {
namespace {

constexpr int32_t kVersion = 3;

Status dtype_of(const char *typestr, int32_t *out_dtype) {
    const char *expected = dtype_of_typestr(typestr, out_dtype);
    return expected == nullptr ? VIA_OK
                               : fail(VIA_ERROR_DTYPE, "description.typestr is \"%s\"; expected %s", typestr, expected);
}

constexpr int64_t kLegacy = 1;
constexpr int64_t kPerThread = 2;

// The legacy stream may be wrapped as 0, which the protocol does not know.
int64_t number_of(via_stream *stream) {
    const auto handle = reinterpret_cast<intptr_t>(cuda::native_stream(stream));
    return handle != 0 ? int64_t{handle} : kLegacy;
}

}  // namespace

Status describe_interface(via_array *array, via_array_interface *description) {
    if (!typestr_of(array->dtype, description->typestr)) {
        return fail(VIA_ERROR_EXCHANGE,
                    "dtype is %s, which has no typestr; expected a view as an integer type of the same size",
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
        return fail(VIA_ERROR_DTYPE, "description.typestr is not terminated; expected a 0 within %zu bytes",
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

Status order_description(via_array *array, via_stream *stream, via_array_interface *description) {
    if (stream == cuda::no_sync_stream()) {
        return VIA_OK;
    }
    VIA_TRY(cuda::order_export(array, stream));
    description->has_stream = 1;
    description->stream = stream != nullptr ? number_of(stream) : kLegacy;
    return VIA_OK;
}

Status read_cuda_interface(const via_array_interface &description, ArraySpec *out_spec) {
    VIA_TRY(cuda::need("memory of a __cuda_array_interface__"));
    VIA_TRY(read_interface(description, out_spec));
    if (description.has_stream != 0 && description.stream == 0) {
        return fail(VIA_ERROR_EXCHANGE,
                    "description.stream is 0, which is ambiguous; expected 1, 2 or the address of a CUstream");
    }
    out_spec->device_type = VIA_DEVICE_CUDA;
    if (has_no_elements(description.ndim, description.shape)) {
        return VIA_OK;
    }
    cuda::PointerAttributes attributes{};
    VIA_TRY(cuda::query_pointer(description.address, &attributes));
    if (!attributes.known) {
        return fail(VIA_ERROR_POINTER,
                    "description.address is %p, which the CUDA driver does not know; expected memory of a device",
                    description.address);
    }
    out_spec->device_type = attributes.device_type;
    out_spec->device_id = attributes.device_id;
    out_spec->flags |= attributes.read_only ? VIA_ARRAY_READ_ONLY : 0;
    return VIA_OK;
}

Status follow_description(via_array *array, const via_array_interface &description) {
    if (description.has_stream == 0 || array->size == 0) {
        return VIA_OK;
    }
    if (description.stream == kLegacy || description.stream == kPerThread) {
        return cuda::order_import(array,
                                  description.stream == kLegacy ? cuda::legacy_stream() : cuda::per_thread_stream());
    }
    via_stream *stream = nullptr;
    void *native = reinterpret_cast<void *>(static_cast<intptr_t>(description.stream));
    VIA_TRY(cuda::wrap_stream(native, cuda::kDeviceAtHand, &stream));
    const Status status = cuda::order_import(array, stream);
    cuda::release_stream(stream);
    return status;
}

}  // namespace via
