#include "cuda/driver/context.hpp"

#include <atomic>
#include <mutex>

namespace via::cuda {
namespace {

std::atomic<CUcontext> primaries[kMostDevices];
std::mutex retaining;

// A reset by the application ends the context but not the handle. It must be retained again before use.
bool is_active(CUdevice device) {
    unsigned int flags = 0;
    int active = 0;
    const auto ask = [&] { return driver().cuDevicePrimaryCtxGetState(device, &flags, &active); };
    return asked_again(ask) == CUDA_SUCCESS && active != 0;
}

Status retain_primary(int32_t device_id, CUdevice device, CUcontext *out_context) {
    const std::lock_guard<std::mutex> lock(retaining);
    const RelaxedCapture relaxed;
    VIA_TRY_CUDA(cuDevicePrimaryCtxRetain(out_context, device));
    primaries[device_id].store(*out_context, std::memory_order_release);
    return VIA_OK;
}

CUresult ask_id(CUcontext context, uint64_t *out_id) {
    if (driver().cuCtxGetId == nullptr) {
        *out_id = reinterpret_cast<uintptr_t>(context);
        return CUDA_SUCCESS;
    }
    unsigned long long id = 0;
    const CUresult result = asked_again([&] { return driver().cuCtxGetId(context, &id); });
    *out_id = id;
    return result;
}

}  // namespace

Status find_device(int32_t device_id, CUdevice *out_device) {
    const int32_t count = driver().device_count;
    if (device_id < 0 || device_id >= count || device_id >= kMostDevices) {
        return fail(VIA_ERROR_DEVICE, "device_id is %d; expected 0 to %d", device_id, count - 1);
    }
    return check_driver(driver().cuDeviceGet(out_device, device_id), "cuDeviceGet");
}

Status need_device(const char *what, int32_t device_id) {
    VIA_TRY(need_driver(what));
    CUdevice device = 0;
    return find_device(device_id, &device);
}

Status primary_context(int32_t device_id, CUcontext *out_context) {
    CUdevice device = 0;
    VIA_TRY(find_device(device_id, &device));
    *out_context = primaries[device_id].load(std::memory_order_acquire);
    if (*out_context != nullptr && is_active(device)) [[likely]] {
        return VIA_OK;
    }
    return retain_primary(device_id, device, out_context);
}

Status primary_context(int32_t device_id, ContextKey *out_key) {
    VIA_TRY(primary_context(device_id, &out_key->context));
    out_key->id = context_id(out_key->context);
    return VIA_OK;
}

bool find_active_primary(int32_t device_id, ContextKey *out_key) {
    out_key->context = primaries[device_id].load(std::memory_order_acquire);
    if (!is_active(device_id) ||
        (out_key->context == nullptr && primary_context(device_id, &out_key->context) != VIA_OK)) {
        return false;
    }
    out_key->id = context_id(out_key->context);
    return out_key->id != 0;
}

uint64_t context_id(CUcontext context) {
    uint64_t id = 0;
    return ask_id(context, &id) == CUDA_SUCCESS ? id : 0;
}

int32_t current_device() {
    CUdevice device = -1;
    return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

bool inside_driver_callback() {
    CUcontext current = nullptr;
    return driver().cuCtxGetCurrent(&current) == CUDA_ERROR_NOT_PERMITTED;
}

Status context_gone(const char *argument, int32_t device_id) {
    if (inside_driver_callback()) {
        return fail_with_code(VIA_ERROR_CUDA, CUDA_ERROR_NOT_PERMITTED,
                              "%s is used inside a callback of the driver; expected a call from outside", argument);
    }
    return fail(VIA_ERROR_CUDA,
                "%s is of a context of device %d that was reset or destroyed; expected one that still exists", argument,
                device_id);
}

ContextState state_of(const ContextKey &key) {
    if (inside_driver_callback()) {
        return ContextState::CannotAsk;
    }
    uint64_t id = 0;
    const CUresult result = key.id != 0 ? ask_id(key.context, &id) : CUDA_ERROR_INVALID_CONTEXT;
    const bool is_gone = result == CUDA_SUCCESS
                             ? id != key.id
                             : result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
    return is_gone ? ContextState::Gone : ContextState::Alive;
}

namespace {

// The device of the context that the thread had as its current one when it last asked. Initial-exec for the same reason
// as current_thread_state.
struct LastAsked {
    ContextKey key;
    int32_t device_id;
};
__thread LastAsked last_asked __attribute__((tls_model("initial-exec"))) = {};

Status find_current(int32_t device_id, ContextKey *out_key) {
    *out_key = {};
    VIA_TRY_CUDA(cuCtxGetCurrent(&out_key->context));
    if (out_key->context == nullptr) {
        return VIA_OK;
    }
    out_key->id = context_id(out_key->context);
    if (!(last_asked.key == *out_key) || driver().cuCtxGetId == nullptr) [[unlikely]] {
        CUdevice found = -1;
        const bool is_known = asked_again([&] { return driver().cuCtxGetDevice(&found); }) == CUDA_SUCCESS;
        last_asked = {is_known ? *out_key : ContextKey{}, is_known ? found : -1};
    }
    if (last_asked.device_id != device_id) {
        *out_key = {};
    }
    return VIA_OK;
}

}  // namespace

Status context_at_hand(int32_t device_id, ContextKey *out_key) {
    VIA_TRY(find_current(device_id, out_key));
    if (out_key->id != 0) [[likely]] {
        return VIA_OK;
    }
    return primary_context(device_id, out_key);
}

Status device_of_context(CUcontext context, int32_t *out_device_id) {
    ContextScope scope;
    VIA_TRY(scope.enter(context));
    CUdevice device = -1;
    VIA_TRY_CUDA(cuCtxGetDevice(&device));
    *out_device_id = device;
    return VIA_OK;
}

CUcontext context_of(const void *address) {
    CUcontext context = nullptr;
    const auto ask = [&] {
        return driver().cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, number_of(address));
    };
    return asked_again(ask) == CUDA_SUCCESS ? context : nullptr;
}

Status ContextScope::enter(CUcontext context) {
    if (driver().cuCtxGetCurrent(&before_) == CUDA_SUCCESS && before_ == context) [[likely]] {
        return VIA_OK;
    }
    VIA_TRY_CUDA(cuCtxPushCurrent(context));
    pushed_ = true;
    return VIA_OK;
}

Status ContextScope::enter_device(int32_t device_id, ContextKey *out_key) {
    ContextKey key{};
    VIA_TRY(context_at_hand(device_id, &key));
    if (out_key != nullptr) {
        *out_key = key;
    }
    return enter(key.context);
}

// Sets the context from before if this one cannot be popped: the caller's calls must not go to another context.
void ContextScope::leave() {
    if (pushed_) {
        CUcontext popped = nullptr;
        if (asked_again([&] { return driver().cuCtxPopCurrent(&popped); }) != CUDA_SUCCESS) [[unlikely]] {
            (void)driver().cuCtxSetCurrent(before_);
        }
        pushed_ = false;
    }
}

}  // namespace via::cuda
