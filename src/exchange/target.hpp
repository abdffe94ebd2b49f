// Where an exchange is to end up, against where the memory is.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via {

// How memory goes from one side to the other.
struct Lending {
    bool by_copy;
    int32_t device_type;  // what the other side is told
    int32_t device_id;
};

// Finds how memory of a device becomes that of options.target_device. Pinned and managed memory is the host's under
// another name, and managed memory is every CUDA device's; all else is a copy, and refused with VIA_ERROR_NEEDS_COPY
// under VIA_COPY_NEVER. VIA_COPY_ALWAYS copies.
VIA_NODISCARD Status find_lending_elsewhere(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                            Lending *out_lending);
VIA_NODISCARD inline Status find_lending(const via_dlpack_options &options, int32_t device_type, int32_t device_id,
                                         Lending *out_lending) {
    *out_lending = {options.copy == VIA_COPY_ALWAYS, device_type, device_id};
    const int32_t type = options.target_device_type;
    const bool stays = type == VIA_DEVICE_ANY || (type == device_type && options.target_device_id == device_id);
    return stays ? VIA_OK : find_lending_elsewhere(options, device_type, device_id, out_lending);
}

}  // namespace via
