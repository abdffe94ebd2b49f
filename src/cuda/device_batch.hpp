// Runs many copies of adjacent bytes on one device: small ones by one kernel launch, large ones by the driver.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"
#include "core/async/fence.hpp"
#include "core/base/list.hpp"
#include "core/base/status.hpp"

namespace via::cuda {

struct Batch;

// Returns the device of the stream, or -1 if it is that of the arrays.
int32_t device_meant_by(via_stream *stream);

// Makes a batch of about `count` copies within the device's memory, or between that and pinned memory.
VIA_NODISCARD Status make_batch(int32_t device_id, int32_t count, Batch **out_batch);

enum class LinkDirection : int32_t { No, ToDevice, ToHost };

// Returns whether the kernels that reach the memory of earlier copies reach these addresses too. Memory of another
// context they do not.
bool can_reach(Batch *batch, const void *dst, const void *src, LinkDirection direction);

// Adds a copy of at least one byte. On failure the batch is unchanged. Errors: VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status add_copy(Batch *batch, void *dst, const void *src, int64_t nbytes, LinkDirection direction);

// Returns the list of the storages that its copies use, for the caller to fill.
List<Storage *> *storages_of(Batch *batch);

// Plans each copy. None can be added after that. On failure the batch can only be ended.
VIA_NODISCARD Status finish_batch(Batch *batch);

// Ends a batch once `until`, the fence of its last run, is complete. nullptr: all runs have ended. Calls no driver.
// Accepts a null batch.
void end_batch(Batch *batch, Fence *until);

// Returns whether a stream (nullptr: legacy) or a task can run the batch. Its context must be that of the memory and
// must have loaded the kernels. *out_timeline is the stream's. It is unknown in a capture, since a graph comes after
// nothing by itself. Errors: as for any use of the stream.
VIA_NODISCARD Status can_run_on(Batch *batch, via_stream *stream, bool *out_can, Timeline *out_timeline);
bool can_run_in_task(Batch *batch);

// Runs the batch in stream order, after `dependency` unless that is nullptr. Stores a retained fence of its end
// in *out_fence, or nullptr if it is done or part of a graph, which then holds the storages. On failure, what was
// queued has ended.
VIA_NODISCARD Status run_batch_on(Batch *batch, Fence *dependency, via_stream *stream, Fence **out_fence);

// Runs the batch on an internal stream. All fences that it depends on must be complete.
VIA_NODISCARD Status run_batch_for_task(Batch *batch, Fence **out_fence);

}  // namespace via::cuda
