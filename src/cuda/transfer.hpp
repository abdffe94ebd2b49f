// Moving bytes and filling adjacent ones where a device, page-locked or managed memory has a part, or a stream orders
// the work. The rooms above have checked the arrays, their overlap and their layout; this one chooses driver copy,
// staging, kernel or peer route, waits for what must be waited for, and leaves the fences.
#pragma once

#include <cstdint>

#include "core/async/fence.hpp"
#include "core/base/status.hpp"
#include "cuda/transfer_plan.hpp"
#include "cuda/transfer_sides.hpp"

namespace via::cuda {

// Plans without making anything, for texts and checks. Errors: as plan_transfer.
VIA_NODISCARD Status plan_for_text(const Transfer &transfer, TransferPlan *out_plan);

// After the legacy stream's work (of both devices between two) and when both arrays are ready; returns when the bytes
// have arrived, for every stream and for the host.
VIA_NODISCARD Status transfer_now(const Transfer &transfer);

// In stream order and when both arrays are ready; nullptr means the legacy stream. Pageable source: read on return;
// pageable destination: arrived on return; otherwise both arrays are marked, by the graph's hold on a stream being
// captured. Errors, nothing having been touched: VIA_ERROR_STREAM_CAPTURE for pageable memory on a stream being
// captured, and for kernels that have not been loaded; VIA_ERROR_DEVICE for a strided transfer on a stream of another
// device.
VIA_NODISCARD Status transfer_on(const Transfer &transfer, via_stream *stream);

// The same in two steps, for many transfers that are all checked before the first is touched.
VIA_NODISCARD Status plan_on(const Transfer &transfer, via_stream *stream, TransferPlan *out_plan);
VIA_NODISCARD Status transfer_on(const Transfer &transfer, const TransferPlan &plan, via_stream *stream);

// For a task: on the library's own streams, once everything it must wait for has been reached; waits for and fences no
// array. A fence stored in *out_fence (retained) says where it ends; none, that it is done. Progress and cancellation
// through `task`.
VIA_NODISCARD Status plan_for_task(const Transfer &transfer, TransferPlan *out_plan);
VIA_NODISCARD Status transfer_for_task(const Transfer &transfer, const TransferPlan &plan, via_task *task,
                                       Fence **out_fence);

// True if transfer_for_task only hands work over, without waiting for anything.
bool is_immediate(const Transfer &transfer, const TransferPlan &plan);

// The stream's work so far as a fence (retained), for the dependency of a task; nullptr if it is done. `device_id` is
// the device at hand. Errors: VIA_ERROR_STREAM_CAPTURE for a stream being captured.
VIA_NODISCARD Status stream_fence(via_stream *stream, int32_t device_id, Fence **out_fence);

// For work that the host does in the place of a stream: waits on the host for the stream's work so far; nullptr means
// the legacy stream. On a stream being captured nothing is waited for, and *out_capturing is true.
VIA_NODISCARD Status await_stream(via_stream *stream, bool *out_capturing);

// Waits for nothing. Errors: as for any use of the stream.
VIA_NODISCARD Status is_capturing(via_stream *stream, int32_t device_id, bool *out_capturing);

}  // namespace via::cuda
