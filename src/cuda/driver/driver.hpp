// The CUDA driver, opened at run time: a table of its functions, and the translation of its errors.
//
// Only src/cuda includes cuda.h. Rooms above it include the headers at the top of src/cuda, which name no type of
// CUDA's.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include "core/base/status.hpp"

namespace via::cuda {

struct Driver {
#define VIA_CUDA_REQUIRED(name, version) PFN_##name##_v##version name;
#define VIA_CUDA_OPTIONAL(name, version) PFN_##name##_v##version name;
#include "cuda/driver/driver_functions.def"
#undef VIA_CUDA_REQUIRED
#undef VIA_CUDA_OPTIONAL
    int32_t version;       // as cuDriverGetVersion reports
    int32_t device_count;  // at least 1
};

// Returns VIA_OK if the driver is loaded and initialised, has a device, and this is no forked child. Loads it at the
// first call, from VIADUCT_LIBCUDA or else libcuda.so.1. `what` names what needs it: "a stream". Errors:
// VIA_ERROR_UNSUPPORTED with the reason, VIA_ERROR_FORKED.
VIA_NODISCARD Status need_driver(const char *what);

// Returns the same as a bool. Loads the driver only if `load` is true, so that nothing is opened merely to release or
// to inspect.
bool driver_is_usable(bool load);

// Returns true in a child of a process that had used the driver before it forked. No function of the driver may be
// called there.
bool is_forked_child();

// Call only after need_driver or driver_is_usable has succeeded.
const Driver &driver();

// Fails with a text such as "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". Errors: VIA_ERROR_OUT_OF_MEMORY,
// VIA_ERROR_STREAM_CAPTURE for the codes 900 to 908, otherwise VIA_ERROR_CUDA.
VIA_NODISCARD Status driver_failure(CUresult result, const char *call) __attribute__((cold));

VIA_NODISCARD inline Status check_driver(CUresult result, const char *call) {
    return result == CUDA_SUCCESS ? VIA_OK : driver_failure(result, call);
}

// Asks a second time after an error. Memory is freed and routes are chosen by such answers. A failed question says
// nothing about the work, which may still be running.
template <class Ask>
CUresult asked_again(const Ask &ask) {
    const CUresult result = ask();
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ? result : ask();
}

// Waits a second time if the driver fails. Returns the first answer.
inline CUresult wait_for_work(CUstream stream) {
    const CUresult result = driver().cuStreamSynchronize(stream);
    if (result != CUDA_SUCCESS) [[unlikely]] {
        (void)driver().cuStreamSynchronize(stream);
    }
    return result;
}

// Returns an attribute of a device, or 0 if the driver does not say.
inline int device_attribute(CUdevice device, CUdevice_attribute name) {
    int value = 0;
    return driver().cuDeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

// Returns whether the device uses the host's address of registered memory. On some machines it has another.
inline bool is_registered_in_place(CUdevice device) {
    return device_attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) != 0;
}

// Converts an address to the driver's type.
inline CUdeviceptr number_of(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

// Calls a member of Driver: VIA_TRY_CUDA(cuMemFree(address)).
#define VIA_TRY_CUDA(call) VIA_TRY(::via::cuda::check_driver(::via::cuda::driver().call, #call))

// Copies adjacent bytes in stream order. Says which sides are a device's or managed: what the driver takes for host
// memory it may wait for.
VIA_NODISCARD Status copy_adjacent(void *dst, bool dst_on_device, const void *src, bool src_on_device, int64_t nbytes,
                                   CUstream stream);

// Whether the thread is in the scope below. Initial-exec: see core/base/thread_state.hpp.
inline constinit thread_local bool capture_is_relaxed __attribute__((tls_model("initial-exec"))) = false;

inline bool exchange_capture_mode(CUstreamCaptureMode *mode) {
    return asked_again([&] { return driver().cuThreadExchangeStreamCaptureMode(mode); }) == CUDA_SUCCESS;
}

// Relaxes the thread's capture mode for a scope; nests, and the outermost scope asks the driver. Threads of the library
// need it before they call the driver. User threads need it for calls that a capture elsewhere would forbid: an event
// query by another thread ends a global capture.
class RelaxedCapture {
public:
    RelaxedCapture() : entered_(!capture_is_relaxed && exchange_capture_mode(&mode_)) {
        capture_is_relaxed |= entered_;
    }
    ~RelaxedCapture() {
        if (entered_) {
            capture_is_relaxed = false;
            (void)exchange_capture_mode(&mode_);
        }
    }
    RelaxedCapture(const RelaxedCapture &) = delete;
    RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool entered_;
};

// Relaxes the capture mode of a thread of the library's own, which stays so until the thread ends.
inline void stay_relaxed() {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    capture_is_relaxed = capture_is_relaxed || exchange_capture_mode(&mode);
}

}  // namespace via::cuda
