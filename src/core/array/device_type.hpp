// Kinds of memory, by the numbers of DLPack.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

constexpr bool is_cuda_memory(int32_t device_type) {
    return device_type == VIA_DEVICE_CUDA || device_type == VIA_DEVICE_CUDA_HOST ||
           device_type == VIA_DEVICE_CUDA_MANAGED;
}

// VIA_OK for the host's memory, of id 0; for what serves nothing else. Where memory of CUDA devices is welcome too, it
// is check_any_device of cuda/device.hpp that asks. `argument` is whose device it is: "" for the function's own
// arguments, else a prefix such as "tensor.".
// Errors: VIA_ERROR_DEVICE, VIA_ERROR_UNSUPPORTED for CUDA memory.
VIA_NODISCARD inline Status check_host_device(const char *argument, int32_t device_type, int32_t device_id) {
    if (device_type == VIA_DEVICE_CPU && device_id == 0) [[likely]] {
        return VIA_OK;
    }
    if (is_cuda_memory(device_type)) {
        return fail(VIA_ERROR_UNSUPPORTED, "%sdevice_type is %d (CUDA memory); expected %d (CPU)", argument,
                    device_type, VIA_DEVICE_CPU);
    }
    if (device_type == VIA_DEVICE_CPU) {
        return fail(VIA_ERROR_DEVICE, "%sdevice_id is %d; expected 0 for host memory", argument, device_id);
    }
    return fail(VIA_ERROR_DEVICE,
                "%sdevice_type is %d; expected %d (CPU), %d (CUDA), %d (CUDA host) or %d (CUDA managed)", argument,
                device_type, VIA_DEVICE_CPU, VIA_DEVICE_CUDA, VIA_DEVICE_CUDA_HOST, VIA_DEVICE_CUDA_MANAGED);
}

}  // namespace via
