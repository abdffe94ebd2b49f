#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/base/thread_state.hpp"
#include "core/base/versioned_struct.hpp"
#include "exchange/dlpack.hpp"
#include "exchange/dlpack_export.hpp"

namespace via {

static_assert(static_cast<int32_t>(Code::Float4E2M1) == kDLFloat4_e2m1fn, "core's codes are DLPack's");
static_assert(static_cast<int32_t>(Code::Float8Last) == kDLFloat8_e8m0fnu, "core's codes are DLPack's");
static_assert(int32_t{VIA_DEVICE_CPU} == int32_t{kDLCPU} && int32_t{VIA_DEVICE_CUDA} == int32_t{kDLCUDA} &&
                  int32_t{VIA_DEVICE_CUDA_HOST} == int32_t{kDLCUDAHost} &&
                  int32_t{VIA_DEVICE_CUDA_MANAGED} == int32_t{kDLCUDAManaged},
              "the header's device types are DLPack's");

namespace {

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

template <class Tensor>
Status begin_export(via_array *array, const ExchangePlan &plan, Tensor **out_tensor) {
    auto *tensor = static_cast<Tensor *>(std::malloc(sizeof(Tensor)));
    if (tensor == nullptr) [[unlikely]] {
        return fail(VIA_ERROR_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", sizeof(Tensor));
    }
    tensor->dl_tensor = describe(array, plan);
    tensor->manager_ctx = array;
    tensor->deleter = end_export<Tensor>;
    retain_array(array);
    count(Counter::Exports, 1);
    *out_tensor = tensor;
    return VIA_OK;
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
        return fail(VIA_ERROR_NEEDS_COPY, "the array has %s; expected options.copy other than VIA_COPY_NEVER", reason);
    }
    return VIA_OK;
}

Status export_dlpack(via_array *array, const via_dlpack_options &options, const ExchangePlan &plan,
                     DLManagedTensorVersioned **out_tensor) {
    VIA_TRY(begin_export(array, plan, out_tensor));
    (*out_tensor)->version = version_for(options);
    (*out_tensor)->flags = export_flags(array, plan.copies);
    return VIA_OK;
}

Status export_dlpack(via_array *array, const via_dlpack_options &, const ExchangePlan &plan,
                     DLManagedTensor **out_tensor) {
    return begin_export(array, plan, out_tensor);
}

}  // namespace via
