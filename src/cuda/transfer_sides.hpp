// The two sides of a transfer: where each one's memory is.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via::cuda {

// One side of a transfer. device_type VIA_DEVICE_ANY: the driver is asked (host memory may have been registered).
struct Side {
    int32_t device_type;
    int32_t device_id;
};

struct Move;

// A copy of the host's own between two parts of its memory, on the calling thread: the rooms above lend it. Past: what
// it writes, a device reads next.
enum class Cache : int32_t { Through, Past };
using HostCopy = void (*)(const Move &move, Cache cache);

struct Transfer {
    void *dst;
    const void *src;
    int64_t nbytes;  // more than 0
    Side dst_side;
    Side src_side;
    via_array *dst_array;  // what is waited for, marked and held; nullptr, both of them, for raw memory
    via_array *src_array;
    // A strided transfer moves `run` adjacent bytes for each index of its loops, nbytes in all. The loops are in normal
    // form: steps of dst are positive and ascend, and no two loops could be one.
    int64_t run = 0;
    int32_t ndim = 0;  // 0: nbytes adjacent bytes
    const Axis *axes = nullptr;
    HostCopy host_copy = nullptr;  // of a strided transfer
};

constexpr bool is_pageable(const Side &side) { return side.device_type == VIA_DEVICE_CPU; }
constexpr bool is_device(const Side &side) { return side.device_type == VIA_DEVICE_CUDA; }
constexpr bool is_to_device(const Transfer &transfer) { return is_device(transfer.dst_side); }

constexpr bool has_pageable(const Transfer &transfer) {
    return is_pageable(transfer.dst_side) || is_pageable(transfer.src_side);
}

constexpr bool has_device(const Transfer &transfer) {
    return is_device(transfer.dst_side) || is_device(transfer.src_side);
}

constexpr bool devices_differ(const Transfer &transfer) {
    return is_device(transfer.dst_side) && is_device(transfer.src_side) &&
           transfer.dst_side.device_id != transfer.src_side.device_id;
}

// Asks the driver about sides that are ANY: memory that it knows nothing of becomes VIA_DEVICE_CPU. The functions below
// expect to be given what this one leaves. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status find_sides(Transfer *transfer);

// The same for raw memory. Where a device has a part, checks that no allocation that the driver knows ends before the
// bytes do; adjacent mappings are walked. In a forked child only memory that can be read passes for host memory.
// Errors: VIA_ERROR_POINTER, VIA_ERROR_FORKED.
VIA_NODISCARD Status find_raw_sides(Transfer *transfer);

// The device whose special streams are meant, and do the work if no stream is given: the one that has a side; where
// both sides are of devices, the current one if it is one of them, else dst's; where none is, the current one, else 0.
int32_t device_of_transfer(const Transfer &transfer);

// Where a device walks the host's own page tables, the driver's copies need no staging of pageable memory, and so do
// not promise to be done with it when they return.
bool uses_pageable_later(int32_t device_id);

}  // namespace via::cuda
