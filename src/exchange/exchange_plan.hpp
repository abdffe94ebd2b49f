// Decides whether an exchange shares the memory or copies it, and under which device.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

// How an import or export proceeds.
struct ExchangePlan {
    bool copies;
    int32_t device_type;  // of the result
    int32_t device_id;
};

// Plans the exchange from the memory's device to options.target_device. Pinned and managed memory is shared as the
// host's, and managed memory as any CUDA device's. Every other change of device copies; VIA_COPY_ALWAYS copies too.
// Errors: VIA_ERROR_NEEDS_COPY under VIA_COPY_NEVER, VIA_ERROR_DEVICE.
VIA_NODISCARD Status plan_other_device(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                       ExchangePlan *out_plan);
VIA_NODISCARD inline Status plan_exchange(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                          ExchangePlan *out_plan) {
    *out_plan = {options.copy == VIA_COPY_ALWAYS, device_type, device_id};
    const int32_t type = options.target_device_type;
    const bool stays = type == VIA_DEVICE_ANY || (type == device_type && options.target_device_id == device_id);
    return stays ? VIA_OK : plan_other_device(options, device_type, device_id, out_plan);
}

}  // namespace via
