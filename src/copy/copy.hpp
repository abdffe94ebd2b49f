// Copies arrays and raw memory, wherever it is, for the API. What is refused has not been touched.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/base/status.hpp"

namespace via {

struct Plan;

// Check what may refuse any copy, the cheapest questions first. prepare_loops stores the normal form of arrays that are
// not empty.
VIA_NODISCARD Status check_arrays(via_array *dst, via_array *src);
VIA_NODISCARD Status prepare_loops(via_array *dst, via_array *src, Plan *out_plan);

// Returns VIA_OK if `src` can be copied to `dst`: shapes, dtypes, read-only, overlap. Touches no element.
VIA_NODISCARD Status check_copy(via_array *dst, via_array *src);

// Copies between any two arrays when both are ready. If CUDA memory is involved, after the legacy stream's work.
VIA_NODISCARD Status copy_array(via_array *dst, via_array *src);

// Copies in stream order; nullptr means the legacy stream. See via_copy_async.
VIA_NODISCARD Status copy_array_async(via_array *dst, via_array *src, via_stream *stream);

// Returns whether the host does such a copy, as copy_array does, and asks no driver.
bool needs_no_stream(via_array *dst, via_array *src, via_stream *stream);

// Submits a copy as a task, after no stream if `stream` is nullptr or no_sync. See via_copy_submit.
VIA_NODISCARD Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);

// Copies between two addresses of any memory that do not overlap: as copy_array if `stream` is nullptr, otherwise as
// copy_array_async.
VIA_NODISCARD Status copy_bytes(void *dst, const void *src, int64_t nbytes, via_stream *stream);

// Makes a row-major, writable array in memory of a kind: VIA_DEVICE_CPU, _CUDA, _CUDA_HOST or _CUDA_MANAGED (device_id
// as for via_wrap). Copies in stream order. With nullptr or no_sync, and in pageable memory, the content is there on
// return. Errors: as copy_array_async; VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status clone_to(via_array *src, int32_t device_type, int32_t device_id, via_stream *stream,
                              via_array **out_array);

}  // namespace via
