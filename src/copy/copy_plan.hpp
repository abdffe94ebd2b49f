// A copy planned once, and carried to whatever is done with it: normal form, where both sides are, and how it goes.
#pragma once

#include <initializer_list>

#include "copy/plan.hpp"
#include "core/async/fence.hpp"
#include "cuda/transfer.hpp"

namespace via {

constexpr bool is_plain(via_array *array) { return array->device_type == VIA_DEVICE_CPU; }

// Returns whether all of them are; lists of row numbers are nullptr where there are none.
constexpr bool are_plain(via_array *dst, via_array *src, via_array *dst_index = nullptr,
                         via_array *src_index = nullptr) {
    return is_plain(dst) && is_plain(src) && (dst_index == nullptr || is_plain(dst_index)) &&
           (src_index == nullptr || is_plain(src_index));
}

// When to ask the driver about memory that is named as the host's but may have been registered.
enum class Ask : int32_t {
    Never,  // it is what it is called
    Large,  // only where it makes a difference to a copy that is waited for
    Always
};

struct CopyPlan {
    cuda::Transfer transfer;      // reads the axes where `loops` has them
    cuda::TransferPlan device{};  // unless on_host
    bool on_host = false;         // for memory that it can reach, unless the driver knows better (managed memory)
    bool through_host = false;    // packed elements with gaps, one side on a device
    Plan loops;

    CopyPlan() = default;
    CopyPlan(const CopyPlan &) = delete;
    CopyPlan &operator=(const CopyPlan &) = delete;
};

// Checks everything that may refuse a copy between two arrays that are not empty, and finds their sides. Touches no
// element.
VIA_NODISCARD Status prepare_copy(via_array *dst, via_array *src, Ask ask, CopyPlan *out_plan);

// Describes the bytes and loops of a normal form, between memory of both arrays. Refers to `loops`.
VIA_NODISCARD Status make_transfer(const Plan &loops, via_array *dst, via_array *src, Ask ask,
                                   cuda::Transfer *out_transfer);

// Returns whether the copy is one run of whole bytes.
constexpr bool is_adjacent(const Plan &loops) { return loops.ndim == 0 && loops.trailing_bits == 0 && !loops.in_bits; }

// Returns whether the host copies.
bool is_for_host(const Plan &loops, const cuda::Transfer &transfer);

// Waits on the host until the arrays are ready; either may be nullptr.
VIA_NODISCARD Status await_arrays(via_array *dst, via_array *src);

// Waits on the host for the stream's work so far; nullptr means the legacy stream. Errors: VIA_ERROR_STREAM_CAPTURE if
// it is being captured. `what` names the work that cannot be captured.
VIA_NODISCARD Status await_stream(via_stream *stream, const char *what);

// Plan the route of a prepared copy and run it, as via_copy and via_copy_async do.
VIA_NODISCARD Status copy_now(CopyPlan *plan);
VIA_NODISCARD Status copy_on(CopyPlan *plan, via_stream *stream);

// Do the same in two steps, for several copies that are all checked before the first is touched.
VIA_NODISCARD Status plan_on(CopyPlan *plan, via_stream *stream);
VIA_NODISCARD Status run_on(CopyPlan *plan, via_stream *stream);

// Plans the route for a description.
VIA_NODISCARD Status plan_for_text(CopyPlan *plan);

// ---- Copies in tasks.

// Refuses what no task can do without CUDA. Lists of row numbers are nullptr where there are none.
VIA_NODISCARD Status check_task_memory(via_array *dst, via_array *src, via_array *dst_index = nullptr,
                                       via_array *src_index = nullptr);

// Plans a copy that was checked, of arrays that are not empty.
VIA_NODISCARD Status plan_task_copy(via_array *dst, via_array *src, CopyPlan *out_plan);

// Copies within TaskWork::run. Waits for and tracks nothing; `done_before` is the task's progress so far.
VIA_NODISCARD Status run_in_task(CopyPlan *plan, int64_t done_before, via_task *task, Fence **out_fence);

// Returns true if run_in_task only queues work on a device.
bool is_immediate(const CopyPlan &plan);

// Copies at once, within other work. Waits for and tracks no array, and returns when the bytes have arrived.
VIA_NODISCARD Status copy_and_wait(via_array *dst, via_array *src);

// Store what a task waits for, retained for the caller; nullptr if there is nothing. The work of the stream, for tasks
// of this device, unless it is nullptr or no_sync; that and the last writes of arrays, which may be nullptr.
VIA_NODISCARD Status dependency_of_stream(via_stream *stream, int32_t device_id, Fence **out_dependency);
VIA_NODISCARD Status dependency_of_arrays(via_stream *stream, int32_t device_id,
                                          std::initializer_list<via_array *> arrays, Fence **out_dependency);
VIA_NODISCARD Status dependency_of_copy(via_array *dst, via_array *src, via_stream *stream, Fence **out_dependency,
                                        via_array *dst_index = nullptr, via_array *src_index = nullptr);

}  // namespace via
