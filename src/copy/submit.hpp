// Copies as tasks.
#pragma once

#include "copy/copy_plan.hpp"
#include "core/async/fence.hpp"

namespace via {

// Submits a copy as a task, after no stream if `stream` is nullptr or no_sync. See via_copy_submit.
VIA_NODISCARD Status submit_copy(via_array *dst, via_array *src, via_stream *stream, via_task **out_task);

// The steps of submit_copy, for tasks of several copies. The check refuses whatever no task can do. Arrays that are
// planned are not empty. The dependency is retained for the caller, and nullptr if there is nothing to wait for.
// run_in_task copies within TaskWork::run; it waits for and tracks nothing, and `done_before` is the task's progress so
// far.
VIA_NODISCARD Status check_task_copy(via_array *dst, via_array *src);

// Refuses only what no task can do without CUDA. Lists of row numbers are nullptr where there are none, here and below.
VIA_NODISCARD Status check_task_memory(via_array *dst, via_array *src, via_array *dst_index = nullptr,
                                       via_array *src_index = nullptr);

VIA_NODISCARD Status plan_task_copy(via_array *dst, via_array *src, CopyPlan *out_plan);

VIA_NODISCARD Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency,
                                        via_array *dst_index = nullptr, via_array *src_index = nullptr);

VIA_NODISCARD Status run_in_task(CopyPlan *plan, int64_t done_before, via_task *task, Fence **out_fence);

// Returns true if run_in_task only queues work on a device.
bool is_immediate(const CopyPlan &plan);

// Returns the stream's part of the dependency, for copies of this device.
VIA_NODISCARD Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency);

// Copies at once, within other work. Waits for and tracks no array, and returns when the bytes have arrived.
VIA_NODISCARD Status copy_and_wait(via_array *dst, via_array *src);

}  // namespace via
