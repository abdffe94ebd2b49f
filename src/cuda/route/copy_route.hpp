// Which way a transfer goes: decided from its sides and its size alone.
#pragma once

#include "cuda/route/pinned_copy_plan.hpp"
#include "cuda/staging/staging.hpp"
#include "cuda/transfer.hpp"

namespace via::cuda {

enum class CopyRoute : int32_t {
    Driver,  // one copy by the driver
    Staged,  // through the ring of page-locked slots
    Peer,    // between two devices
    // What is strided goes through the ring as well, or:
    Kernel,      // by a kernel that reaches both sides by address
Pinned,        // by copy engines, with kernels of the device's
    Bounced,     // by the host and the driver, a little at a time
    StridedPeer  // between two devices
};

// Whether the host may have a part in the work: it waits for it, or for all of it but its device's.
enum class Caller : int32_t { Waits, GoesOn };

constexpr bool is_pageable(const Side &side) { return side.device_type == VIA_DEVICE_CPU; }
constexpr bool is_device(const Side &side) { return side.device_type == VIA_DEVICE_CUDA; }
inline bool has_pageable(const Transfer &transfer) {
    return is_pageable(transfer.dst_side) || is_pageable(transfer.src_side);
}

inline bool has_device(const Transfer &transfer) {
    return is_device(transfer.dst_side) || is_device(transfer.src_side);
}

// Where a device walks the host's own page tables, the driver's copies need no staging of pageable memory, and so do
// not promise to be done with it when they return.
bool uses_pageable_later(int32_t device_id);

// Makes nothing: whether there is a ring for CopyRoute::Staged is asked when it is needed. GoesOn makes a difference only to
// strided page-locked memory: of pageable memory the host has a part anyway.
CopyRoute choose_copy_route(const Transfer &transfer, Caller caller);

// What serves where CopyRoute::Staged would, but there is no ring.
CopyRoute route_without_ring(const Transfer &transfer);

// For CopyRoute::Pinned.
PinnedCopyPlan find_pinned_plan(const Transfer &transfer, Caller caller);

// For CopyRoute::Staged; the transfer lives longer than the copy.
StagedCopy staged_copy(const Transfer &transfer, via_task *task);

}  // namespace via::cuda
