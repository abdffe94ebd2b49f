// Questions about CUDA devices. Names no type of CUDA's. A build without CUDA answers them from stub.cpp.
#pragma once

#include <cstdint>

#include "core/array/device_type.hpp"
#include "core/base/status.hpp"

namespace via::cuda {

// Returns VIA_OK if `what` ("a stream") can be had. Errors: VIA_ERROR_UNSUPPORTED with the reason, VIA_ERROR_FORKED.
VIA_NODISCARD Status need(const char *what);

// Returns whether the driver was started in this process, or in the one that it was forked from. Otherwise no address
// is CUDA's. Starts nothing and takes a few nanoseconds.
bool was_started();

// Returns whether the driver was started and this process can use it. Otherwise no stream has work. Takes as little.
bool is_in_use();

// Returns the number of devices that can be used. Loads the driver.
int32_t device_count();

// Returns why there is no device, or "". The text is static.
const char *why_none();

// Checks that device_type and device_id of CUDA memory name something that exists. Pinned and managed memory have id 0.
// `argument` prefixes the names in the text: "" for the function's own arguments, otherwise "tensor." and the like.
// Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_DEVICE.
VIA_NODISCARD Status check_device(const char *argument, int32_t device_type, int32_t device_id);

// Checks the device of any kind of memory, at no cost for the host's. Errors: as check_device; VIA_ERROR_DEVICE for an
// unknown kind.
VIA_NODISCARD inline Status check_any_device(const char *argument, int32_t device_type, int32_t device_id) {
    if (device_type == VIA_DEVICE_CPU && device_id == 0) [[likely]] {
        return VIA_OK;
    }
    return is_cuda_memory(device_type) ? check_device(argument, device_type, device_id)
                                       : check_host_device(argument, device_type, device_id);
}

// Returns whether the device runs the library's kernels, and loads them if necessary.
bool loads_kernels(int32_t device_id);

// Fills everything but struct_size, num_threads included.
VIA_NODISCARD Status describe_device(int32_t device_id, via_device_properties *out_properties);

// Retains the primary context and prepares copies of that device: internal streams, events, kernels, staging slots.
VIA_NODISCARD Status warm_up(int32_t device_id);

// Measures from which size on a staged copy beats the driver's. The result is saved to a file and loaded from there.
VIA_NODISCARD Status calibrate(int32_t device_id);
VIA_NODISCARD Status save_calibration(const char *path);
VIA_NODISCARD Status load_calibration(const char *path);

}  // namespace via::cuda
