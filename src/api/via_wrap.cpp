#include "api/guard.hpp"
#include "core/array/array.hpp"
#include "core/base/versioned_struct.hpp"
#include "core/system/address_probe.hpp"
#include "cuda/device.hpp"
#include "cuda/pointer_attributes.hpp"

using namespace via;

namespace {

static_assert(sizeof(via_pointer_info) == 32 && offsetof(via_pointer_info, base_address) == 16);

constexpr int32_t kAllFlags =
    VIA_WRAP_READ_ONLY | VIA_WRAP_BYTE_STRIDES | VIA_WRAP_UNCHECKED | VIA_WRAP_DETECT | VIA_WRAP_PROBE;

Status check_readable(via_array *array) {
    if (array->size == 0) {
        return VIA_OK;
    }
    const ByteSpan span = byte_span(array);
    const char *data = static_cast<char *>(array->data);
    for (const int64_t offset : {span.low, span.high - 1}) {
        if (!is_readable(data + offset)) {
            return fail(VIA_ERROR_POINTER,
                        "address is %p, and byte %lld from there cannot be read; expected readable memory", array->data,
                        as_printed(offset));
        }
    }
    return VIA_OK;
}

// Detects the device of the memory, or checks the named one. Memory unknown to every device counts as the host's, and
// is probed, since it may be no memory.
Status check_memory(via_array *array, bool detected, int32_t flags) {
    const bool is_checked = (flags & VIA_WRAP_UNCHECKED) == 0;
    if (detected) {
        VIA_TRY(cuda::detect_pointer(array, is_checked));
    } else if (array->device_type != VIA_DEVICE_CPU && is_checked) {
        VIA_TRY(cuda::check_pointer("", array));
    }
    const bool is_probed = detected || (flags & VIA_WRAP_PROBE) != 0;
    return array->device_type == VIA_DEVICE_CPU && is_probed ? check_readable(array) : VIA_OK;
}

// Describes memory known to CUDA. Registered host pages may be read-only.
Status describe_pointer(const void *address, const cuda::PointerAttributes &attributes, via_pointer_info *info) {
    HostMapping mapping{};
    if (attributes.device_type == VIA_DEVICE_CUDA_HOST) {
        VIA_TRY(find_host_mapping(address, &mapping));
    }
    const bool is_constant = mapping.nbytes > 0 && !mapping.writable;
    info->device_type = attributes.device_type;
    info->device_id = attributes.device_id;
    info->read_only = attributes.read_only || is_constant ? 1 : 0;
    info->base_address = attributes.base;
    info->nbytes = attributes.nbytes;
    return VIA_OK;
}

Status no_memory(const void *address) {
    return fail(VIA_ERROR_POINTER, "address is %p, which cannot be read; expected readable memory", address);
}

Status describe_host(const void *address, via_pointer_info *info) {
    if (!is_readable(address)) {
        return no_memory(address);
    }
    HostMapping mapping{};
    VIA_TRY(find_host_mapping(address, &mapping));
    if (!mapping.readable) {
        return no_memory(address);
    }
    info->device_type = VIA_DEVICE_CPU;
    info->read_only = mapping.writable ? 0 : 1;
    info->base_address = mapping.base;
    info->nbytes = mapping.nbytes;
    return VIA_OK;
}

}  // namespace

via_status via_wrap(void *address, int32_t dtype, int32_t ndim, const int64_t *shape, const int64_t *strides,
                    int32_t device_type, int32_t device_id, int32_t flags, via_release_fn release, void *context,
                    via_array **out_array) {
    VIA_TRACE_API(via_wrap, address, dtype, ndim, shape, strides, device_type, device_id, flags, release, context,
                  out_array);
    return guarded(__func__, output("out_array", out_array), [&]() -> Status {
        if ((flags & ~kAllFlags) != 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "flags is 0x%x; expected VIA_WRAP_... only",
                        static_cast<unsigned>(flags));
        }
        const bool detected = device_type == VIA_DEVICE_ANY || (flags & VIA_WRAP_DETECT) != 0;
        if (!detected) {
            VIA_TRY(cuda::check_any_device("", device_type, device_id));
        }
        const ArraySpec spec{.data = address,
                             .dtype = dtype,
                             .ndim = ndim,
                             .shape = shape,
                             .strides = strides,
                             .unit = strides == nullptr                     ? StrideUnit::RowMajor
                                     : (flags & VIA_WRAP_BYTE_STRIDES) != 0 ? StrideUnit::Bytes
                                                                            : StrideUnit::Elements,
                             .device_type = detected ? VIA_DEVICE_CPU : device_type,
                             .device_id = detected ? 0 : device_id,
                             .flags = (flags & VIA_WRAP_READ_ONLY) != 0 ? VIA_ARRAY_READ_ONLY : 0};
        const Deleter deleter = borrowed(release, context);
        const bool trusted = !detected && device_type == VIA_DEVICE_CPU && (flags & VIA_WRAP_PROBE) == 0;
        if (trusted) {
            return make_array(spec, deleter, out_array);
        }
        return make_checked_array(spec, deleter, out_array,
                                  [&](via_array *array) { return check_memory(array, detected, flags); });
    });
}

void via_array_retain(via_array *array) {
    VIA_TRACE_API(via_array_retain, array);
    unless_null(array, retain_array);
}

void via_array_release(via_array *array) {
    VIA_TRACE_API(via_array_release, array);
    unless_null(array, release_array);
}

int32_t via_array_release_waits(via_array *array) {
    VIA_TRACE_API(via_array_release_waits, array);
    return array != nullptr && release_waits(array) ? 1 : 0;
}

via_status via_pointer_query(const void *address, via_pointer_info *out_info) {
    VIA_TRACE_API(via_pointer_query, address, out_info);
    return guarded(__func__, required("out_info", out_info), [&]() -> Status {
        via_pointer_info info = VIA_POINTER_INFO_INIT;
        cuda::PointerAttributes attributes{};
        VIA_TRY(cuda::query_pointer(address, &attributes));
        if (attributes.known) {
            VIA_TRY(describe_pointer(address, attributes, &info));
        } else {
            VIA_TRY(describe_host(address, &info));
        }
        return write_struct("out_info", info, out_info);
    });
}
