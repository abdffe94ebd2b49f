// Copies that involve CUDA's memory or a stream. The rooms above have checked the arrays, their overlap and their
// layout. This one plans the route, waits for the arrays and records fences.
#pragma once

#include <cstdint>

#include "core/async/fence.hpp"
#include "core/base/status.hpp"
#include "cuda/transfer_plan.hpp"

namespace via::cuda {

// Plans for a description. Makes nothing. Errors: as plan_transfer.
VIA_NODISCARD Status plan_for_text(const Transfer &transfer, TransferPlan *out_plan);

// Copies after the work of the legacy stream, of both devices between two, once both arrays are ready. Returns when the
// bytes have arrived for every stream and the host.
VIA_NODISCARD Status transfer_now(const Transfer &transfer);

// Copies in stream order when both arrays are ready; nullptr means the legacy stream. On return a pageable source has
// been read, and a pageable destination written. Otherwise both arrays are tracked; in a capture the graph holds them.
// Errors, before anything is touched: VIA_ERROR_STREAM_CAPTURE for pageable memory in a capture, and for kernels that
// have not been loaded; VIA_ERROR_DEVICE for a strided transfer on a stream of another device.
VIA_NODISCARD Status transfer_on(const Transfer &transfer, via_stream *stream);

// Do the same in two steps, for many transfers that are all checked before the first is touched.
VIA_NODISCARD Status plan_on(const Transfer &transfer, via_stream *stream, TransferPlan *out_plan);
VIA_NODISCARD Status transfer_on(const Transfer &transfer, const TransferPlan &plan, via_stream *stream);

// Copy for a task, on internal streams. All fences that it depends on must be complete; arrays are neither waited for
// nor tracked. Stores a retained fence of the end in *out_fence, or nullptr if it is done. Progress and cancellation go
// through `task`.
VIA_NODISCARD Status plan_for_task(const Transfer &transfer, TransferPlan *out_plan);
VIA_NODISCARD Status transfer_for_task(const Transfer &transfer, const TransferPlan &plan, via_task *task,
                                       Fence **out_fence);

// Returns true if transfer_for_task only queues work, without waiting.
bool is_immediate(const Transfer &transfer, const TransferPlan &plan);

// Returns the stream's work so far as a retained fence, for the dependency of a task, or nullptr if it is done.
// `device_id` is for streams without a device. Errors: VIA_ERROR_STREAM_CAPTURE for a stream being captured.
VIA_NODISCARD Status stream_fence(via_stream *stream, int32_t device_id, Fence **out_fence);

// Waits on the host for the stream's work so far, for work that the host does itself. nullptr means the legacy stream.
// Does not wait on a stream being captured, and sets *out_capturing.
VIA_NODISCARD Status await_stream(via_stream *stream, bool *out_capturing);

// Does not wait. Errors: as for any use of the stream.
VIA_NODISCARD Status is_capturing(via_stream *stream, int32_t device_id, bool *out_capturing);

}  // namespace via::cuda
