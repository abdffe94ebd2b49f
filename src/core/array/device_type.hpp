// Kinds of memory, with DLPack's numbers.
#pragma once

#include <cstdint>
#include <cstdio>

#include "core/base/status.hpp"

namespace via {

constexpr bool is_cuda_memory(int32_t device_type) {
    return device_type == VIA_DEVICE_CUDA || device_type == VIA_DEVICE_CUDA_HOST ||
           device_type == VIA_DEVICE_CUDA_MANAGED;
}

// The name of a device type, for texts: "VIA_DEVICE_CUDA"; the number itself if it has none.
struct DeviceTypeName {
    explicit DeviceTypeName(int32_t device_type) {
        const char *name = device_type == VIA_DEVICE_CPU            ? "CPU"
                           : device_type == VIA_DEVICE_CUDA         ? "CUDA"
                           : device_type == VIA_DEVICE_CUDA_HOST    ? "CUDA_HOST"
                           : device_type == VIA_DEVICE_CUDA_MANAGED ? "CUDA_MANAGED"
                                                                    : nullptr;
        if (name != nullptr) {
            std::snprintf(text, sizeof text, "VIA_DEVICE_%s", name);
        } else {
            std::snprintf(text, sizeof text, "%d", device_type);
        }
    }
    char text[32];
};

// Checks that the device is the host, with id 0. Use check_any_device of cuda/device.hpp where CUDA memory is accepted.
// `argument` prefixes the names in the text: "" for the function's own arguments, otherwise "tensor." and the like.
// Errors: VIA_ERROR_DEVICE.
VIA_NODISCARD inline Status check_host_device(const char *argument, int32_t device_type, int32_t device_id) {
    if (device_type == VIA_DEVICE_CPU && device_id == 0) [[likely]] {
        return VIA_OK;
    }
    if (device_type == VIA_DEVICE_CPU) {
        return fail(VIA_ERROR_DEVICE, "%sdevice_id is %d; expected 0 for VIA_DEVICE_CPU", argument, device_id);
    }
    return fail(VIA_ERROR_DEVICE,
                "%sdevice_type is %s; expected VIA_DEVICE_CPU, VIA_DEVICE_CUDA, VIA_DEVICE_CUDA_HOST or "
                "VIA_DEVICE_CUDA_MANAGED",
                argument, DeviceTypeName(device_type).text);
}

}  // namespace via
