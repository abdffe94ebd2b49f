// Copies and fills of arrays and of raw memory, wherever it is: what the API layer calls.
//
// What is refused has not been touched. Strided fills are the host's, for memory that it can reach.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/base/status.hpp"
#include "core/system/thread_count.hpp"

namespace via {

struct Plan;
struct CopyPlan;

// What may refuse any copy, in the order of what is cheapest to say: first the arrays as such; then, if they are not
// empty, what its normal form tells, which is stored.
VIA_NODISCARD Status check_arrays(via_array *dst, via_array *src);
VIA_NODISCARD Status prepare_loops(via_array *dst, via_array *src, Plan *out_plan);

// VIA_OK if `src` can be copied to `dst`: shapes, dtypes, read-only, overlap. Touches no element.
VIA_NODISCARD Status check_copy(via_array *dst, via_array *src);

// Any two arrays; after the legacy stream's work where memory of CUDA's has a part, and when both are ready.
VIA_NODISCARD Status copy_array(via_array *dst, via_array *src);

// In stream order; nullptr means the legacy stream. See via_copy_async.
VIA_NODISCARD Status copy_array_async(via_array *dst, via_array *src, via_stream *stream);

// The plan of that, of arrays that are not empty: refuses all that it does. Whether the host does it at once, no stream
// having anything of this process's before it.
VIA_NODISCARD Status plan_copy_async(via_array *dst, via_array *src, via_stream *stream, CopyPlan *out_plan);
bool is_behind_nothing(via_array *dst, via_array *src, via_stream *stream);

// The same for pairs that do not overlap one another; all are checked before the first is touched.
VIA_NODISCARD Status copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream);

// As a task; nullptr and no_sync: after no stream. See via_copy_submit.
VIA_NODISCARD Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);

// The parts of submit_copy, for tasks that are made of several copies. First the check, which also refuses what no
// task can do; then the plan, of arrays that are not empty; then the dependency, retained for the caller, nullptr if
// there is nothing to wait for; then, in TaskWork::run, the copy itself, which waits for and tracks nothing;
// `done_before` is the task's progress so far.
VIA_NODISCARD Status check_task_copy(via_array *dst, via_array *src);
VIA_NODISCARD Status plan_task_copy(via_array *dst, via_array *src, CopyPlan *out_plan);
VIA_NODISCARD Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency);
VIA_NODISCARD Status run_in_task(CopyPlan *plan, int64_t done_before, via_task *task, Fence **out_fence);
// True if run_in_task only hands work over to a device.
bool is_immediate(const CopyPlan &plan);
// The same at once, for copies within other work: waits for and tracks no array, and returns when the bytes are there.
VIA_NODISCARD Status copy_and_wait(via_array *dst, via_array *src);

// The stream's part of the dependency, for copies of this device.
VIA_NODISCARD Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency);

// `element` is one element's bytes; nullptr for zeros. Returns when done.
VIA_NODISCARD Status fill_array(via_array *dst, const void *element);

// The same in stream order; nullptr means the legacy stream. The element has been read on return.
VIA_NODISCARD Status fill_array_async(via_array *dst, const void *element, via_stream *stream);

// Between two addresses of any memory that do not overlap. `stream` nullptr: as copy_array, else as copy_array_async.
VIA_NODISCARD Status copy_bytes(void *dst, const void *src, int64_t nbytes, via_stream *stream);

// The plan of a copy as text; at most `capacity` bytes with the ending 0, the whole length to *out_length.
VIA_NODISCARD Status explain_copy(via_array *dst, via_array *src, int64_t capacity, char *text, int64_t *out_length);

}  // namespace via
