#include "api/guard.hpp"
#include "core/array.hpp"
#include "core/device.hpp"
#include "core/host_probe.hpp"
#include "core/structs.hpp"

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
            return fail(VIA_ERROR_POINTER, "the byte at %p, %lld from the address, cannot be read; expected memory",
                        static_cast<const void *>(data + offset), static_cast<long long>(offset));
        }
    }
    return VIA_OK;
}

// The disposal is set last: until then a failure must not release what it did not take.
Status wrap_probed(const ArraySpec &spec, const Disposal &disposal, via_array **out_array) {
    ArrayHolder array;
    VIA_TRY(make_array(spec, Disposal{}, array.out()));
    VIA_TRY(check_readable(array.get()));
    array.get()->storage->disposal = disposal;
    *out_array = array.give();
    return VIA_OK;
}

}  // namespace

via_status via_wrap(void *address, int32_t dtype, int32_t ndim, const int64_t *shape, const int64_t *strides,
                    int32_t device_type, int32_t device_id, int32_t flags, via_release_fn release, void *context,
                    via_array **out_array) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(clear_output("out_array", out_array));
        if ((flags & ~kAllFlags) != 0) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "flags is 0x%x; expected VIA_WRAP_... only",
                        static_cast<unsigned>(flags));
        }
        const bool detect = device_type == VIA_DEVICE_ANY || (flags & VIA_WRAP_DETECT) != 0;
        if (!detect) {
            VIA_TRY(check_host_device("", device_type, device_id));
        }
        const ArraySpec spec{.data = address,
                             .dtype = dtype,
                             .ndim = ndim,
                             .shape = shape,
                             .strides = strides,
                             .unit = strides == nullptr                     ? StrideUnit::RowMajor
                                     : (flags & VIA_WRAP_BYTE_STRIDES) != 0 ? StrideUnit::Bytes
                                                                            : StrideUnit::Elements,
                             .flags = (flags & VIA_WRAP_READ_ONLY) != 0 ? VIA_ARRAY_READ_ONLY : 0};
        const Disposal disposal = loan(release, context);
        // An address that no device knows is host memory only if it is memory at all.
        const bool probe = detect || (flags & VIA_WRAP_PROBE) != 0;
        return probe ? wrap_probed(spec, disposal, out_array) : make_array(spec, disposal, out_array);
    });
}

void via_array_retain(via_array *array) {
    if (array != nullptr) {
        retain_array(array);
    }
}

void via_array_release(via_array *array) {
    if (array != nullptr) {
        release_array(array);
    }
}

via_status via_pointer_query(const void *address, via_pointer_info *out_info) {
    return guarded(__func__, [&]() -> Status {
        VIA_TRY(require("out_info", out_info));
        HostMapping mapping{};
        if (!find_host_mapping(address, &mapping) || !mapping.readable) {
            return fail(VIA_ERROR_POINTER, "address %p is no memory that can be read", address);
        }
        via_pointer_info info = VIA_POINTER_INFO_INIT;
        info.device_type = VIA_DEVICE_CPU;
        info.read_only = mapping.writable ? 0 : 1;
        info.base_address = mapping.base;
        info.nbytes = mapping.nbytes;
        return write_struct("out_info", info, out_info);
    });
}
