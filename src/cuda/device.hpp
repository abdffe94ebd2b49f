// What the rooms above may ask about CUDA devices. Names no type of CUDA's; a build without CUDA answers from
// absent.cpp.
#pragma once

#include <cstdint>

#include "core/array/device_type.hpp"
#include "core/base/status.hpp"

namespace via::cuda {

// True in a build that has this room at all.
bool is_built();

// VIA_OK if `what` ("a stream") can be had: errors VIA_ERROR_UNSUPPORTED with the reason, VIA_ERROR_FORKED.
VIA_NODISCARD Status need(const char *what);

// Somebody has started the driver, in this process or in the one that it was forked from: else no address is CUDA's.
// Starts nothing, and costs a few nanoseconds.
bool was_started();

// Somebody has started the driver, and this process can use it: else nothing is on any of its streams. As cheap.
bool is_in_use();

// How many devices can be used; 0 where CUDA cannot be had. Loads the driver.
int32_t device_count();

// Why there is no device, "" if there is one; lives for ever.
const char *why_none();

// device_type and device_id of CUDA memory name something that exists: pinned and managed memory have id 0.
// `argument` is whose it is: "" for the function's own arguments, else a prefix such as "tensor.".
// Errors: VIA_ERROR_UNSUPPORTED, VIA_ERROR_FORKED, VIA_ERROR_DEVICE.
VIA_NODISCARD Status check_device(const char *argument, int32_t device_type, int32_t device_id);

// The same for any kind of memory: what every room checks a device with that may be the host's or CUDA's. Free of cost
// for the host's. Errors: also VIA_ERROR_DEVICE for a kind that there is not.
VIA_NODISCARD inline Status check_any_device(const char *argument, int32_t device_type, int32_t device_id) {
    if (device_type == VIA_DEVICE_CPU && device_id == 0) [[likely]] {
        return VIA_OK;
    }
    return is_cuda_memory(device_type) ? check_device(argument, device_type, device_id)
                                       : check_host_device(argument, device_type, device_id);
}

// Whether the device runs the library's kernels, as far as can be told without loading them.
bool runs_kernels(int32_t device_id);

// Whether it does; loads them if need be.
bool loads_kernels(int32_t device_id);

// Fills everything but struct_size, num_threads included.
VIA_NODISCARD Status describe_device(int32_t device_id, via_device_properties *out_properties);

// Retains the primary context and makes ready what copies of that device use: internal streams, events,
// kernels, staging slots.
VIA_NODISCARD Status warm_up(int32_t device_id);

// Measures from which size on a staged copy beats the driver's, and saves the result to a file.

VIA_NODISCARD Status calibrate(int32_t device_id);
VIA_NODISCARD Status save_calibration(const char *path);
VIA_NODISCARD Status load_calibration(const char *path);

}  // namespace via::cuda
