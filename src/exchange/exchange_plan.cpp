#include "exchange/exchange_plan.hpp"

#include "core/array/device_type.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

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

}  // namespace

Status plan_other_device(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
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

}  // namespace via
