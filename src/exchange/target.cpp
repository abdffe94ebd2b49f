#include "exchange/target.hpp"

#include "core/array/device_type.hpp"
#include "cuda/device.hpp"

namespace via {
namespace {

// Whether memory of one kind is also memory of another, as it is.
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
               : fail(VIA_ERROR_DEVICE, "options.target_device is %d:%d; expected a device that Viaduct knows", type,
                      id);
}

}  // namespace

Status find_lending_elsewhere(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                              Lending *out_lending) {
    VIA_TRY(check_target(options));
    const int32_t type = options.target_device_type;
    *out_lending = {options.copy == VIA_COPY_ALWAYS, type, options.target_device_id};
    if (serves_as(device_type, type)) {
        return VIA_OK;
    }
    if (options.copy == VIA_COPY_NEVER) {
        return fail(VIA_ERROR_NEEDS_COPY,
                    "options.target_device is %d:%d, but the memory is on %d:%d; expected copying to be allowed", type,
                    options.target_device_id, device_type, device_id);
    }
    out_lending->by_copy = true;
    return VIA_OK;
}

}  // namespace via
