// Copies as tasks.
#pragma once

#include "copy/copy_plan.hpp"
#include "core/async/fence.hpp"

namespace via {

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

// The stream's part of the dependency, for copies of this device.
VIA_NODISCARD Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency);

// The same at once, for copies within other work: waits for and tracks no array, and returns when the bytes are there.
VIA_NODISCARD Status copy_and_wait(via_array *dst, via_array *src);

}  // namespace via
