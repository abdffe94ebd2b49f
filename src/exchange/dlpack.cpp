#include "exchange/dlpack.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/array/device_type.hpp"
#include "core/base/checked.hpp"
#include "core/base/thread_state.hpp"
#include "core/base/versioned_struct.hpp"
#include "cuda/device.hpp"
#include "cuda/pointer_attributes.hpp"
#include "exchange/stream_order.hpp"

namespace via {
namespace {

static_assert(static_cast<int32_t>(Code::Float4E2M1) == kDLFloat4_e2m1fn, "core's codes are DLPack's");
static_assert(static_cast<int32_t>(Code::Float8Last) == kDLFloat8_e8m0fnu, "core's codes are DLPack's");
static_assert(int32_t{VIA_DEVICE_CPU} == int32_t{kDLCPU} && int32_t{VIA_DEVICE_CUDA} == int32_t{kDLCUDA} &&
                  int32_t{VIA_DEVICE_CUDA_HOST} == int32_t{kDLCUDAHost} &&
                  int32_t{VIA_DEVICE_CUDA_MANAGED} == int32_t{kDLCUDAManaged},
              "the header's device types are DLPack's");

// Returns whether memory of one kind can be shared as memory of another.
bool serves_as(int32_t device_type, int32_t wanted_type) {
    const bool is_managed = device_type == VIA_DEVICE_CUDA_MANAGED;
    return (wanted_type == VIA_DEVICE_CPU && (is_managed || device_type == VIA_DEVICE_CUDA_HOST)) ||
           (wanted_type == VIA_DEVICE_CUDA && is_managed);
}

Status check_target(const via_dlpack_options &options) {
    const int32_t type = options.target_device_type;
    const int32_t id = options.target_device_id;
    if (is_cuda_memory(type)) {
        return cuda::check_device("options.target_", type, id);
    }
    return type == VIA_DEVICE_CPU && id == 0
               ? VIA_OK
               : fail(VIA_ERROR_DEVICE,
                      "options.target_device is %s:%d; expected VIA_DEVICE_CPU:0, VIA_DEVICE_CUDA, "
                      "VIA_DEVICE_CUDA_HOST or VIA_DEVICE_CUDA_MANAGED",
                      DeviceTypeName(type).text, id);
}

// Plans the exchange from the memory's device to options.target_device. Pinned and managed memory is shared as the
// host's, and managed memory as any CUDA device's. Every other change of device copies; VIA_COPY_ALWAYS copies too.
// Errors: VIA_ERROR_NEEDS_COPY under VIA_COPY_NEVER, VIA_ERROR_DEVICE.
[[gnu::noinline]] Status plan_other_device(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                           ExchangePlan *out_plan) {
    VIA_TRY(check_target(options));
    const int32_t type = options.target_device_type;
    *out_plan = {options.copy == VIA_COPY_ALWAYS, type, options.target_device_id};
    if (serves_as(device_type, type)) {
        return VIA_OK;
    }
    if (options.copy == VIA_COPY_NEVER) {
        return fail(VIA_ERROR_NEEDS_COPY,
                    "options.target_device is %s:%d and the memory is on %s:%d; expected options.copy other than "
                    "VIA_COPY_NEVER",
                    DeviceTypeName(type).text, options.target_device_id, DeviceTypeName(device_type).text, device_id);
    }
    out_plan->copies = true;
    return VIA_OK;
}

VIA_NODISCARD Status plan_exchange(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                   ExchangePlan *out_plan) {
    *out_plan = {options.copy == VIA_COPY_ALWAYS, device_type, device_id};
    const int32_t type = options.target_device_type;
    const bool stays = type == VIA_DEVICE_ANY || (type == device_type && options.target_device_id == device_id);
    return stays ? VIA_OK : plan_other_device(options, device_type, device_id, out_plan);
}

Status check_version(DlpackForm form, const via_dlpack_options &options) {
    const int32_t major = options.max_major;
    const int32_t minor = options.max_minor;
    if (major < 0 || minor < 0) {
        return fail(VIA_ERROR_INVALID_ARGUMENT, "options.max_major.max_minor is %d.%d; expected 0 or more", major,
                    minor);
    }
    if (form == DlpackForm::Versioned && major == 0 && minor > 0) {
        return fail(VIA_ERROR_VERSION, "options.max_major.max_minor is 0.%d; expected 1.0 or more, or the legacy form",
                    minor);
    }
    return VIA_OK;
}

// Returns why only a copy of the array can be exported; nullptr if the array itself can.
const char *reason_to_copy(via_array *array) {
    if (!array->strides_are_elements) {
        return "strides that are not whole elements";
    }
    if ((array->flags & VIA_ARRAY_MISALIGNED) != 0) {
        return "elements that are not aligned";
    }
    return nullptr;
}

// Returns the version whose consumers would misread padded elements as packed; nullptr if the flag exists.
const char *form_without_padding(DlpackForm form, const via_dlpack_options &options) {
    if (form == DlpackForm::Legacy) {
        return "before 1.0";
    }
    return options.max_major == 1 && options.max_minor == 0 ? "1.0" : nullptr;
}

// Refuses arrays that DLPack cannot describe, even as a copy. `copying`: a writable copy will be exported.
Status check_expressible(via_array *array, DlpackForm form, const via_dlpack_options &options, bool copying) {
    if (dtype_is_record(array->dtype)) {
        return fail(VIA_ERROR_EXCHANGE,
                    "dtype is %s, which DLPack cannot describe; expected a field of it, or a view as uint8",
                    DtypeName(array->dtype).text);
    }
    if (form == DlpackForm::Legacy && array->is_read_only() && !copying) {
        return fail(
            VIA_ERROR_EXCHANGE,
            "the array is read-only, which DLPack before 1.0 cannot describe; expected a consumer of 1.0 or a copy");
    }
    const char *unaware = form_without_padding(form, options);
    if (unaware != nullptr && (array->flags & VIA_ARRAY_SUBBYTE_PADDED) != 0) {
        return fail(VIA_ERROR_EXCHANGE,
                    "dtype is %s padded to bytes, which DLPack %s cannot describe; expected a consumer of 1.1",
                    DtypeName(array->dtype).text, unaware);
    }
    return VIA_OK;
}

DLDataType dl_dtype(int32_t dtype) {
    return {static_cast<uint8_t>(dtype_code(dtype)), static_cast<uint8_t>(dtype_scalar_bits(dtype)),
            static_cast<uint16_t>(dtype_lanes(dtype))};
}

DLTensor describe(via_array *array, const ExchangePlan &plan) {
    return {.data = array->size == 0 ? nullptr : array->data,
            .device = {static_cast<DLDeviceType>(plan.device_type), plan.device_id},
            .ndim = array->ndim,
            .dtype = dl_dtype(array->dtype),
            .shape = array->ndim == 0 ? nullptr : array->shape(),
            .strides = array->ndim == 0 ? nullptr : array->strides(),
            .byte_offset = 0};
}

// Frees the tensor's one allocation. Its shape and strides are those of the array, which it holds.
template <class Tensor>
void end_export(Tensor *tensor) {
    auto *array = static_cast<via_array *>(tensor->manager_ctx);
    std::free(tensor);
    count(Counter::Exports, -1);
    release_array(array);
}

uint64_t export_flags(via_array *array, bool copied) {
    return (array->is_read_only() ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) | (copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0) |
           ((array->flags & VIA_ARRAY_SUBBYTE_PADDED) != 0 ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0);
}

// Exports version 1.0 to a consumer of at most 1.0, for which every 1.x has the same fields.
DLPackVersion version_for(const via_dlpack_options &options) {
    const bool limited = options.max_major == static_cast<int32_t>(kDlpackMajor);
    return {kDlpackMajor, limited ? std::min(kDlpackMinor, static_cast<uint32_t>(options.max_minor)) : kDlpackMinor};
}

}  // namespace

Status read_options(const via_dlpack_options &options, via_dlpack_options *out_options) {
    VIA_TRY(read_struct("options", options, out_options));
    if (out_options->copy < VIA_COPY_IF_NEEDED || out_options->copy > VIA_COPY_ALWAYS) {
        return fail(VIA_ERROR_INVALID_ARGUMENT,
                    "options.copy is %d; expected VIA_COPY_IF_NEEDED, VIA_COPY_NEVER or VIA_COPY_ALWAYS",
                    out_options->copy);
    }
    return VIA_OK;
}

Status negotiate_export(via_array *array, DlpackForm form, const via_dlpack_options &options, ExchangePlan *out_plan) {
    VIA_TRY(check_version(form, options));
    VIA_TRY(plan_exchange(options, array->device_type, array->device_id, out_plan));
    const char *reason = out_plan->copies ? nullptr : reason_to_copy(array);
    out_plan->copies |= reason != nullptr && options.copy != VIA_COPY_NEVER;
    VIA_TRY(check_expressible(array, form, options, out_plan->copies));
    if (reason != nullptr && !out_plan->copies) {
        return fail(VIA_ERROR_NEEDS_COPY,
                    "the array has %s; expected a copy of it, or options.copy other than VIA_COPY_NEVER", reason);
    }
    return VIA_OK;
}

template <class Tensor>
Status export_dlpack(via_array *array, const via_dlpack_options &options, const ExchangePlan &plan,
                     Tensor **out_tensor) {
    auto *tensor = static_cast<Tensor *>(std::malloc(sizeof(Tensor)));
    if (tensor == nullptr) [[unlikely]] {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", sizeof(Tensor));
    }
    tensor->dl_tensor = describe(array, plan);
    tensor->manager_ctx = array;
    tensor->deleter = end_export<Tensor>;
    if constexpr (kDlpackForm<Tensor> == DlpackForm::Versioned) {
        tensor->version = version_for(options);
        tensor->flags = export_flags(array, plan.copies);
    }
    retain_array(array);
    count(Counter::Exports, 1);
    *out_tensor = tensor;
    return VIA_OK;
}

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

}  // namespace

template <class Tensor>
Status negotiate_import(const Tensor &tensor, const via_dlpack_options &options, ExchangePlan *out_plan) {
    int32_t type = 0;
    int32_t id = 0;
    if constexpr (kDlpackForm<Tensor> == DlpackForm::Versioned) {
        VIA_TRY(check_header(tensor));
    }
    VIA_TRY(read_device(tensor.dl_tensor.device, &type, &id));
    return plan_exchange(options, type, id, out_plan);
}

template <class Tensor>
Status import_dlpack(Tensor *tensor, const ExchangePlan &plan, via_stream *stream, via_array **out_array) {
    uint64_t flags = 0;
    if constexpr (kDlpackForm<Tensor> == DlpackForm::Versioned) {
        flags = tensor->flags;
    }
    ArraySpec spec;
    VIA_TRY(read_tensor(tensor->dl_tensor, flags, &spec));
    const Deleter deleter{plan.copies ? nullptr : end_import<Tensor>, nullptr, tensor, nullptr, 0};
    if (spec.device_type != VIA_DEVICE_CPU) {
        return import_device_memory(spec, deleter, plan, stream, out_array);
    }
    VIA_TRY(check_no_stream(stream));
    return make_array(spec, deleter, out_array);
}

template <class Tensor>
void delete_tensor(Tensor *tensor) {
    if (tensor != nullptr && tensor->deleter != nullptr) {
        const CallbackScope scope;
        tensor->deleter(tensor);
    }
}

template Status export_dlpack(via_array *, const via_dlpack_options &, const ExchangePlan &,
                              DLManagedTensorVersioned **);
template Status export_dlpack(via_array *, const via_dlpack_options &, const ExchangePlan &, DLManagedTensor **);
template Status negotiate_import(const DLManagedTensorVersioned &, const via_dlpack_options &, ExchangePlan *);
template Status negotiate_import(const DLManagedTensor &, const via_dlpack_options &, ExchangePlan *);
template Status import_dlpack(DLManagedTensorVersioned *, const ExchangePlan &, via_stream *, via_array **);
template Status import_dlpack(DLManagedTensor *, const ExchangePlan &, via_stream *, via_array **);
template void delete_tensor(DLManagedTensorVersioned *);
template void delete_tensor(DLManagedTensor *);

}  // namespace via
