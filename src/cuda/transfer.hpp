// Moving bytes and filling adjacent ones where a device, page-locked or managed memory has a part, or a stream orders
// the work. The rooms above have checked the arrays, their overlap and their layout; this one chooses driver copy,
// staging, kernel or peer route, waits for what must be waited for, and leaves the fences.
#pragma once

#include <cstdint>

#include "core/layout/axis.hpp"
#include "core/async/fence.hpp"
#include "core/base/status.hpp"

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

// Asks the driver about sides that are ANY: memory that it knows nothing of becomes VIA_DEVICE_CPU. The functions below
// expect to be given what this one leaves. Errors: VIA_ERROR_CUDA.
VIA_NODISCARD Status find_sides(Transfer *transfer);

// The same for raw memory. Where a device has a part, checks that no allocation that the driver knows ends before the
// bytes do; adjacent mappings are walked. In a forked child only memory that can be read passes for host memory.
// Errors: VIA_ERROR_POINTER, VIA_ERROR_FORKED.
VIA_NODISCARD Status find_raw_sides(Transfer *transfer);

// What of a strided transfer with a part of a device's cannot be done. Errors: VIA_ERROR_UNSUPPORTED.
VIA_NODISCARD Status check_strided(const Transfer &transfer);

// The device whose special streams are meant, and do the work if no stream is given: the one that has a side; where
// both sides are of devices, the current one if it is one of them, else dst's; where none is, the current one, else 0.
int32_t device_of_transfer(const Transfer &transfer);

// How a transfer would be done, in a few words: "driver copy, host to device"; for a kernel also which and how.
void describe_transfer(const Transfer &transfer, int64_t capacity, char *out_text);

// After the legacy stream's work (of both devices between two) and when both arrays are ready; returns when the bytes
// have arrived, for every stream and for the host.
VIA_NODISCARD Status transfer_now(const Transfer &transfer);

// In stream order and when both arrays are ready; nullptr means the legacy stream. Pageable source: read on return;
// pageable destination: arrived on return; otherwise both arrays are marked, by the graph's hold on a stream being
// captured. Errors, nothing having been touched: VIA_ERROR_STREAM_CAPTURE for pageable memory on a stream being
// captured, and for kernels that have not been loaded; VIA_ERROR_DEVICE for a strided transfer on a stream of another
// device.
VIA_NODISCARD Status transfer_on(const Transfer &transfer, via_stream *stream);

// For a task: on the library's own streams, once everything it must wait for has been reached; waits for and tracks no
// array. A fence stored in *out_fence (retained) says where it ends; none, that it is done. Progress and cancellation
// through `task`.
VIA_NODISCARD Status transfer_for_task(const Transfer &transfer, via_task *task, Fence **out_fence);

// True if transfer_for_task only hands work over, without waiting for anything.
bool is_immediate(const Transfer &transfer);

// The stream's work so far as a fence (retained), for the dependency of a task; nullptr if it is done. `device_id` is the
// device at hand. Errors: VIA_ERROR_STREAM_CAPTURE for a stream being captured.
VIA_NODISCARD Status stream_fence(via_stream *stream, int32_t device_id, Fence **out_fence);

// For work that the host does in the place of a stream: waits on the host for the stream's work so far; nullptr means
// the legacy stream. On a stream being captured nothing is waited for, and *out_capturing is true.
VIA_NODISCARD Status await_stream(via_stream *stream, bool *out_capturing);

// Whether transfer_on would add to a graph. Errors: as for any use of the stream, and those of strided transfers.
VIA_NODISCARD Status find_capture(const Transfer &transfer, via_stream *stream, bool *out_capturing);

// `count` adjacent elements of `item_bytes` bytes each are set to the bytes at `element`; nullptr means zeros.
struct Fill {
    void *dst;
    int64_t count;
    int64_t item_bytes;
    const void *element;
    Side side;         // memory that a device can write: not VIA_DEVICE_CPU
    via_array *array;  // what is waited for, marked and held
};

// As transfer_now and transfer_on. The element has been read on return.
// Errors: VIA_ERROR_STREAM_CAPTURE for elements that only a copy from the host could repeat; VIA_ERROR_DEVICE for
// a stream of another device than the memory's.
VIA_NODISCARD Status fill_now(const Fill &fill);
VIA_NODISCARD Status fill_on(const Fill &fill, via_stream *stream);

}  // namespace via::cuda
