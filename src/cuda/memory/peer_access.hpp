// Peer access as the driver reports it.
#pragma once

#include "cuda/driver/context.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// One side of a copy between two devices, and whose memory it is.
struct PeerMemory {
    const void *address;
    int32_t device_id;
    ContextKey primary;  // of the device
    CUcontext context;   // that the memory was allocated in; nullptr for pool memory and mapped memory
    CUmemoryPool pool;   // nullptr for other memory

    // Mapped memory counts as neither: it may continue in a mapping with other access.
    bool is_of_primary() const { return pool != nullptr || context == primary.context; }
};

// Asks the driver. Returns false if it cannot say, or if the device has no active primary context.
bool find_peer_memory(const Side &side, const void *address, PeerMemory *out_memory);

// Returns whether kernels in the primary context of a device, that of `own`, may read `other`, and write it if
// `writes`: by peer access between the primary contexts, or because the pool is open to the device. Changes nothing.
// Returns false if the driver cannot say.
bool can_access(const PeerMemory &own, const PeerMemory &other, bool writes);

}  // namespace via::cuda
