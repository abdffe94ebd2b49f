// Many copies of adjacent bytes that one device does in one go: those that are small by one launch of a kernel, those
// that are large by the driver.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/base/status.hpp"

namespace via::cuda {

struct Batch;

// The device whose streams are meant by this one; -1 where it is that of the arrays.
int32_t device_meant_by(via_stream *stream);

// Of copies between memory of the device, and between that and page-locked memory; about `count` of them.
VIA_NODISCARD Status make_batch(int32_t device_id, int32_t count, Batch **out_batch);

enum class LinkDirection : int32_t { No, ToDevice, ToHost };

// Whether kernels that reach the memory asked about before, on the device or page-locked, reach these too: they may be
// of another context, or at another address.
bool can_reach(Batch *batch, const void *dst, const void *src, LinkDirection direction);

// nbytes is more than 0. On failure the batch is as it was. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status add_copy(Batch *batch, void *dst, const void *src, int64_t nbytes, LinkDirection direction);

// There are no more; decides how each is to be done. On failure the batch can only be ended.
VIA_NODISCARD Status finish_batch(Batch *batch);

// `until` is what its last run ends with; nullptr if all have ended. Calls no driver. A null batch is none.
void end_batch(Batch *batch, Fence *until);

// Whether a stream, nullptr meaning legacy, or a task can be given the batch: the context is the memory's, and has
// loaded the kernels that it takes. *out_timeline is the stream's; not known where that is being captured, since the
// graph comes after nothing by itself. Errors: as for any use of the stream.
VIA_NODISCARD Status can_run_on(Batch *batch, via_stream *stream, bool *out_can, Timeline *out_timeline);
bool can_run_in_task(Batch *batch);

// Where the batch's copies are, and what must come before them.
struct BatchRun {
    Batch *batch;
    Fence *behind;  // may be nullptr
    Storage *const *storages;
    int64_t storage_count;
};

// In stream order. A fence stored in *out_fence (retained) says where it ends; none, that it is done, or part of a
// graph, which holds the storages then. Where a call fails that is not the first, what was begun has ended.
VIA_NODISCARD Status run_batch_on(const BatchRun &run, via_stream *stream, Fence **out_fence);

// On a stream of the library's own, once everything has been reached that it must wait for.
VIA_NODISCARD Status run_batch_for_task(Batch *batch, Fence **out_fence);

}  // namespace via::cuda
