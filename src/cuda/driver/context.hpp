// Devices and contexts. The library creates no context. Memory and streams bring theirs; otherwise it uses the primary
// one, which it retains when it needs it, and never to ask a question.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/driver/driver.hpp"

namespace via::cuda {

constexpr int32_t kMostDevices = 64;

// A number of a device that never changes, asked for once. Failed questions are asked again.
class DeviceFact {
public:
    // `ask` stores the number, and returns the driver's result.
    template <class Ask>
    int get(const Ask &ask, int if_unknown) {
        int known = known_.load(std::memory_order_relaxed);
        if (known == kUnknown) [[unlikely]] {
            int found = 0;
            if (asked_again([&] { return ask(&found); }) != CUDA_SUCCESS) {
                return if_unknown;
            }
            known_.store(known = found, std::memory_order_relaxed);
        }
        return known;
    }

private:
    static constexpr int kUnknown = -1;
    std::atomic<int> known_{kUnknown};
};

// Returns an attribute of a device that never changes, asked for once.
template <CUdevice_attribute kName>
int fixed_attribute(int32_t device_id, int if_unknown) {
    static DeviceFact facts[kMostDevices];
    const auto ask = [&](int *value) { return driver().cuDeviceGetAttribute(value, kName, device_id); };
    return facts[device_id].get(ask, if_unknown);
}

// Checks the number of a device; after need_driver. Errors: VIA_ERROR_DEVICE.
VIA_NODISCARD Status find_device(int32_t device_id, CUdevice *out_device);

// Checks the driver too, for `what`. Errors: as need_driver.
VIA_NODISCARD Status need_device(const char *what, int32_t device_id);

// Returns the device's primary context. Retains it for the life of the process, and again after the application has
// reset it.
VIA_NODISCARD Status primary_context(int32_t device_id, CUcontext *out_context);

struct ContextKey;
VIA_NODISCARD Status primary_context(int32_t device_id, ContextKey *out_key);

// Returns the primary context if it is active, otherwise false. Does not make it active.
bool find_active_primary(int32_t device_id, ContextKey *out_key);

// Returns a number that no other context of this process has or had (CUDA 12), or the handle with an older driver.
// Returns 0 for a context that is gone.
uint64_t context_id(CUcontext context);

// Returns the device of the calling thread's current context, or -1.
int32_t current_device();

// Returns true inside a host function or callback of the driver, where the driver answers nothing else.
bool inside_driver_callback();

// Fails for an argument whose context is gone.
VIA_NODISCARD Status context_gone(const char *argument, int32_t device_id) __attribute__((cold));

// A context at one point in time. After a reset or destruction it has another number or none, though its handle may be
// in use again. What belonged to it is gone and must not be touched.
struct ContextKey {
    CUcontext context;
    uint64_t id;

    // A green context may have the number of the one it is carved from.
    bool operator==(const ContextKey &other) const { return id == other.id && context == other.context; }
};

enum class ContextState { Alive, Gone, CannotAsk };

// Returns CannotAsk inside a callback of the driver, and Alive if the driver does not say: whoever uses the context
// then gets the same error.
ContextState state_of(const ContextKey &key);

// Returns the current context if it belongs to the device, otherwise the primary context.
VIA_NODISCARD Status context_at_hand(int32_t device_id, ContextKey *out_key);

// Returns the device of a context.
VIA_NODISCARD Status device_of_context(CUcontext context, int32_t *out_device_id);

// Returns the context that memory was allocated in. Returns nullptr for what has none: memory of pools, mapped memory,
// and what the driver does not know.
CUcontext context_of(const void *address);

// Makes a context current for a scope. Costs one question if it is current already.
class ContextScope {
public:
    ContextScope() = default;
    ~ContextScope() { leave(); }
    ContextScope(const ContextScope &) = delete;
    ContextScope &operator=(const ContextScope &) = delete;

    VIA_NODISCARD Status enter(CUcontext context);
    // Tries twice: what is not freed now is never freed.
    bool enter_to_free(CUcontext context) { return enter(context) == VIA_OK || enter(context) == VIA_OK; }
    // Enters context_at_hand(), and stores which one that is in *out_key, if given.
    VIA_NODISCARD Status enter_device(int32_t device_id, ContextKey *out_key = nullptr);
    void leave();

private:
    bool pushed_ = false;
    CUcontext before_ = nullptr;
};

}  // namespace via::cuda
