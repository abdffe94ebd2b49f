// Fills memory that a device can write.
#pragma once

#include "core/base/status.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// Sets `run` bytes to those at `element`, for each index of the loops. The loops are in normal form: their steps of dst
// are positive and ascend, and no two loops could be one.
struct Fill {
    void *dst;
    const void *element;
    int64_t run;
    int32_t ndim;
    const Axis *axes;
    Side side;         // memory that a device can write: not VIA_DEVICE_CPU
    via_array *array;  // what is waited for, marked and held
};

constexpr bool has_rows(const Fill &fill) { return fill.ndim > 0 && fill.axes[0].dst_step == fill.run; }

// Returns whether what is filled is one block of memory, which takes no kernel.
constexpr bool is_dense(const Fill &fill) { return fill.ndim == 0 || (fill.ndim == 1 && has_rows(fill)); }

// Fill like transfer_now and transfer_on copy. The element has been read on return.
// Errors, nothing having been touched: VIA_ERROR_STREAM_CAPTURE for elements that only a copy from the host could
// repeat, and for kernels that have not been loaded; VIA_ERROR_DEVICE for a stream of another device than the memory's;
// VIA_ERROR_UNSUPPORTED without kernels, unless the fill is dense.
VIA_NODISCARD Status fill_now(const Fill &fill);

VIA_NODISCARD Status fill_on(const Fill &fill, via_stream *stream);

}  // namespace via::cuda
