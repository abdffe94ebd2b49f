#include "exchange/dlpack_import.hpp"
#include "core/base/checked.hpp"
#include "cuda/device.hpp"
#include "cuda/pointer_attributes.hpp"
#include "exchange/dlpack.hpp"
#include "exchange/stream_order.hpp"

namespace via {
namespace {

constexpr uint64_t kKnownFlags =
    DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

Status check_header(const DLManagedTensorVersioned &tensor) {
    if (tensor.version.major != kDlpackMajor) {
        return fail(VIA_ERROR_VERSION, "tensor.version is %u.%u; expected 1.x", tensor.version.major,
                    tensor.version.minor);
    }
    // A newer minor version may have added flags; a known version has no others.
    if (tensor.version.minor <= kDlpackMinor && (tensor.flags & ~kKnownFlags) != 0) {
        return fail(VIA_ERROR_EXCHANGE, "tensor.flags is 0x%llx; expected bits of 0x%llx only for DLPack %u.%u",
                    static_cast<unsigned long long>(tensor.flags), static_cast<unsigned long long>(kKnownFlags),
                    tensor.version.major, tensor.version.minor);
    }
    return VIA_OK;
}

// Some runtimes number several CPU devices, whose memory is the same. Some give pinned and managed memory the number of
// the device that it was allocated on.
Status read_device(const DLDevice &given, int32_t *out_type, int32_t *out_id) {
    *out_type = static_cast<int32_t>(given.device_type);
    *out_id = *out_type != VIA_DEVICE_CUDA && given.device_id > 0 ? 0 : given.device_id;
    return cuda::check_any_device("tensor.device.", *out_type, *out_id);
}

Status read_dtype(const DLDataType &given, int32_t *out_dtype) {
    if (given.lanes == 0 || given.lanes > kMaxLanes) {
        return fail(VIA_ERROR_DTYPE, "tensor.dtype.lanes is %d; expected 1 to %d", given.lanes, kMaxLanes);
    }
    *out_dtype = pack_dtype(given.code, given.bits, given.lanes);
    return check_dtype("tensor.dtype", *out_dtype);
}

// Computes data + byte_offset, after checking both.
Status read_address(const DLTensor &tensor, void **out_address) {
    *out_address = nullptr;
    if (tensor.data == nullptr) {
        return has_no_elements(tensor.ndim, tensor.shape)
                   ? VIA_OK
                   : fail(VIA_ERROR_EXCHANGE, "tensor.data is NULL; expected memory");
    }
    const void *address = nullptr;
    if (tensor.byte_offset > INT64_MAX || !advance(tensor.data, static_cast<int64_t>(tensor.byte_offset), &address)) {
        return fail(VIA_ERROR_OVERFLOW,
                    "tensor.byte_offset is %llu; expected an offset from %p inside the address space",
                    static_cast<unsigned long long>(tensor.byte_offset), tensor.data);
    }
    *out_address = const_cast<void *>(address);
    return VIA_OK;
}

Status read_tensor(const DLTensor &tensor, uint64_t flags, ArraySpec *out_spec) {
    VIA_TRY(read_device(tensor.device, &out_spec->device_type, &out_spec->device_id));
    VIA_TRY(read_dtype(tensor.dtype, &out_spec->dtype));
    VIA_TRY(check_rank(tensor.ndim, tensor.shape));
    VIA_TRY(read_address(tensor, &out_spec->data));
    out_spec->ndim = tensor.ndim;
    out_spec->shape = tensor.shape;
    out_spec->strides = tensor.strides;
    // Before DLPack 1.2, NULL meant row-major. Such producers still exist.
    out_spec->unit = tensor.strides == nullptr ? StrideUnit::RowMajor : StrideUnit::Elements;
    const bool narrow = dtype_bits(out_spec->dtype) % 8 != 0;
    out_spec->flags =
        ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? VIA_ARRAY_READ_ONLY : 0) |
        ((flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0 ? VIA_ARRAY_COPIED : 0) |
        ((flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0 && narrow ? VIA_ARRAY_SUBBYTE_PADDED : 0);
    return VIA_OK;
}

template <class Tensor>
void end_import(const Deleter &deleter) {
    delete_tensor(static_cast<Tensor *>(deleter.context));
}

Status import_device_memory(const ArraySpec &spec, const Deleter &deleter, const ExchangePlan &plan, via_stream *stream,
                            via_array **out_array) {
    return make_checked_array(spec, deleter, out_array, [&](via_array *array) -> Status {
        VIA_TRY(cuda::check_pointer("tensor.", array));
        VIA_TRY(order_producer(array, stream));
        if (!plan.copies) {
            array->device_type = plan.device_type;
            array->device_id = plan.device_id;
        }
        return VIA_OK;
    });
}

template <class Tensor>
Status import_tensor(Tensor *tensor, uint64_t flags, const ExchangePlan &plan, via_stream *stream,
                     via_array **out_array) {
    ArraySpec spec;
    VIA_TRY(read_tensor(tensor->dl_tensor, flags, &spec));
    const Deleter deleter{plan.copies ? nullptr : end_import<Tensor>, nullptr, tensor, nullptr, 0};
    if (spec.device_type != VIA_DEVICE_CPU) {
        return import_device_memory(spec, deleter, plan, stream, out_array);
    }
    VIA_TRY(check_no_stream(stream));
    return make_array(spec, deleter, out_array);
}

Status negotiate(const DLDevice &device, const via_dlpack_options &options, ExchangePlan *out_plan) {
    int32_t type = 0;
    int32_t id = 0;
    VIA_TRY(read_device(device, &type, &id));
    return plan_exchange(options, type, id, out_plan);
}

template <class Tensor>
void call_deleter(Tensor *tensor) {
    if (tensor != nullptr && tensor->deleter != nullptr) {
        const CallbackScope scope;
        tensor->deleter(tensor);
    }
}

}  // namespace

Status negotiate_import(const DLManagedTensorVersioned &tensor, const via_dlpack_options &options,
                        ExchangePlan *out_plan) {
    VIA_TRY(check_header(tensor));
    return negotiate(tensor.dl_tensor.device, options, out_plan);
}

Status negotiate_import(const DLManagedTensor &tensor, const via_dlpack_options &options, ExchangePlan *out_plan) {
    return negotiate(tensor.dl_tensor.device, options, out_plan);
}

Status import_dlpack(DLManagedTensorVersioned *tensor, const ExchangePlan &plan, via_stream *stream,
                     via_array **out_array) {
    return import_tensor(tensor, tensor->flags, plan, stream, out_array);
}

Status import_dlpack(DLManagedTensor *tensor, const ExchangePlan &plan, via_stream *stream, via_array **out_array) {
    return import_tensor(tensor, 0, plan, stream, out_array);
}

void delete_tensor(DLManagedTensorVersioned *tensor) { call_deleter(tensor); }
void delete_tensor(DLManagedTensor *tensor) { call_deleter(tensor); }

}  // namespace via
