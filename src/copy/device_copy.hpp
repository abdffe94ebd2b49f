// Copies in which memory of CUDA's or a stream has a part, once they have been checked and brought into normal form.
#pragma once

#include "copy/plan.hpp"
#include "cuda/transfer.hpp"

namespace via {

constexpr bool is_plain(via_array *array) { return array->device_type == VIA_DEVICE_CPU; }

// How the driver is to be asked about memory that is called the host's, which may have been registered.
enum class Ask : int32_t {
    Never,  // it is what it is called
    Large,  // only where it makes a difference to a copy that is waited for
    Always
};

// The plan's bytes and loops, which are read where the plan has them, and where both arrays are.
VIA_NODISCARD Status make_transfer(const Plan &plan, via_array *dst, via_array *src, Ask ask,
                                   cuda::Transfer *out_transfer);

// One run of whole bytes in both.
constexpr bool is_adjacent(const Plan &plan) { return plan.ndim == 0 && plan.trailing_bits == 0; }

// Whether the host does it: for memory that it can reach, unless the driver knows better (managed memory).
bool is_for_host(const Plan &plan, const cuda::Transfer &transfer);

// Whether it passes through the host's memory, since a device has a part of what takes parts of bytes.
bool passes_host(const Plan &plan, const cuda::Transfer &transfer);

// Errors: VIA_ERROR_UNSUPPORTED for a copy that only a kernel could do.
VIA_NODISCARD Status check_devices(const Plan &plan, const cuda::Transfer &transfer);

// Waits on the host until the arrays are ready; either may be nullptr.
VIA_NODISCARD Status await_arrays(via_array *dst, via_array *src);

// Waits on the host for the stream's work so far, nullptr meaning the legacy stream.
// Errors: VIA_ERROR_STREAM_CAPTURE if it is being captured, `what` being what cannot be.
VIA_NODISCARD Status await_stream(via_stream *stream, const char *what);

// What copy_on refuses.
VIA_NODISCARD Status check_copy_on(const Plan &plan, const cuda::Transfer &transfer, via_stream *stream);

// As via_copy and via_copy_async do.
VIA_NODISCARD Status copy_now(Plan *plan, const cuda::Transfer &transfer);
VIA_NODISCARD Status copy_on(Plan *plan, const cuda::Transfer &transfer, via_stream *stream);

}  // namespace via
