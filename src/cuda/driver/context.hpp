// Devices and contexts. The library makes no context of its own: memory and streams bring theirs, and where there is
// none it uses the primary one, which it retains when it is first needed and never merely to look around.
#pragma once

#include <cstdint>

#include "cuda/driver/driver.hpp"

namespace via::cuda {

constexpr int32_t kMostDevices = 64;

// Checks the number of a device; after need_driver. `argument` is whose it is: "device_id".
// Errors: VIA_ERROR_DEVICE.
VIA_NODISCARD Status find_device(const char *argument, int32_t device_id, CUdevice *out_device);

// The device's primary context, retained for the life of the process, again so after the application has reset it.
VIA_NODISCARD Status primary_context(int32_t device_id, CUcontext *out_context);

// A number that no other context of this process has or had, where the driver can tell (CUDA 12); else the handle.
// 0 for a context that is gone.
uint64_t context_id(CUcontext context);

// The device of the calling thread's current context; -1 if there is none.
int32_t current_device();

// True inside a host function or callback of the driver, where nothing else may be asked of it.
bool inside_driver_callback();

// What to say of an argument whose context can no longer be used.
VIA_NODISCARD Status context_gone(const char *argument, int32_t device_id) __attribute__((cold));

// A context as it is now. A context that was reset or destroyed since has another number or none, though its handle
// may be in use again; what belonged to it is gone then and must not be touched.
struct ContextKey {
    CUcontext context;
    uint64_t id;

    // A green context may have the number of the one it is carved from.
    bool operator==(const ContextKey &other) const { return id == other.id && context == other.context; }
};

enum class ContextState { Alive, Gone, CannotAsk };

// CannotAsk inside a callback of the driver. Alive also where the driver does not say: it tells the same to whoever
// uses the context then.
ContextState state_of(const ContextKey &key);

// Where the current context is of that device, it; else the primary one.
VIA_NODISCARD Status context_at_hand(int32_t device_id, ContextKey *out_key);

// The device a context belongs to.
VIA_NODISCARD Status device_of_context(CUcontext context, int32_t *out_device_id);

// Makes a context current while it lives; costs a look where it is current already.
class ContextScope {
public:
    ContextScope() = default;
    ~ContextScope() { leave(); }
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;

    VIA_NODISCARD Status enter(CUcontext context);
    // Tried again where the driver fails: what is not freed now is never freed.
    bool enter_to_free(CUcontext context) { return enter(context) == VIA_OK || enter(context) == VIA_OK; }
    // That of context_at_hand.
    VIA_NODISCARD Status enter_device(int32_t device_id, ContextKey *out_key);
    void leave();

private:
    bool pushed_ = false;
    CUcontext before_ = nullptr;
};

}  // namespace via::cuda
