// Fills adjacent elements of memory that a device can write.
#pragma once

#include "core/base/status.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// Sets `count` adjacent elements of `item_bytes` bytes each to the bytes at `element`, or to zeros if that is nullptr.
struct Fill {
    void *dst;
    int64_t count;
    int64_t item_bytes;
    const void *element;
    Side side;         // memory that a device can write: not VIA_DEVICE_CPU
    via_array *array;  // what is waited for, marked and held
};

// Fill like transfer_now and transfer_on copy. The element has been read on return.
// Errors: VIA_ERROR_STREAM_CAPTURE for elements that only a copy from the host could repeat; VIA_ERROR_DEVICE for
// a stream of another device than the memory's.
VIA_NODISCARD Status fill_now(const Fill &fill);

VIA_NODISCARD Status fill_on(const Fill &fill, via_stream *stream);

}  // namespace via::cuda
