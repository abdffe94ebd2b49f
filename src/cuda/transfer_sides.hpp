// The two sides of a transfer.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"
#include "core/layout/axis.hpp"

namespace via::cuda {

// Where the memory of one side is. VIA_DEVICE_ANY: unknown, for host memory that may have been registered.
struct Side {
    int32_t device_type;
    int32_t device_id;
};

struct Move;

// A strided host copy on the calling thread, passed in by the rooms above. Past: a device reads next what it writes.
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

// Asks the driver about sides that are ANY. Unknown memory becomes VIA_DEVICE_CPU. The functions below expect no side
// to be ANY. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status find_sides(Transfer *transfer);

// Does the same for raw memory. If a side is on a device, checks that no known allocation ends before the bytes do,
// across adjacent mappings. In a forked child only readable memory counts as host memory.
// Errors: VIA_ERROR_POINTER, VIA_ERROR_FORKED.
VIA_NODISCARD Status find_raw_sides(Transfer *transfer);

// Returns the device whose special streams serve the transfer: that of the side on a device; of two devices the
// source's if it is current, otherwise the destination's; without any the current one, or 0.
int32_t device_of_transfer(const Transfer &transfer);

// Returns whether the device walks the host's page tables: its engines and kernels then reach pageable memory as it is.
// False if the driver does not say.
bool walks_host_page_tables(int32_t device_id);

// Returns whether the driver may still read or write pageable memory after the call, as it does on such a device. True
// if the driver does not say.
bool uses_pageable_later(int32_t device_id);

// Returns whether a transfer is of pageable memory that its device reaches as it is.
bool is_straight(const Transfer &transfer);

}  // namespace via::cuda
