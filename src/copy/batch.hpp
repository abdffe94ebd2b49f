// Batches: many copies prepared as one.
//
// How it works
//
// On an H200 the driver takes 3.5 us for each copy within the device, however small. A batch fuses the copies that one
// device reaches by address, and a kernel does them in one launch. The files, and what each does:
//
//   batch_plan   checks every pair, and splits them into fused copies (cuda/device_batch.hpp) and single ones
//   batch_copies splits the fused copies: large ones for the driver, small ones for the kernel, in pieces
//   device_batch runs both on a stream: kernel parameters hold 168 pieces, a DescriptorTable in pinned memory more
//   batch_run    orders a run, tracks the arrays, and copies the single pairs one after the other; also as a task
//
// Which copies are fused. One side is on the device, the other one there or in pinned memory, and a kernel of one
// context reaches both (RangeCache). The elements are adjacent, or make few long rows. A lone copy is a single one.
// If the stream cannot run the kernel, every copy of the batch runs as a single one. A copy by index or to another
// dtype is a single one with a plan of its own (planned_copy.hpp), made when it is added.
//
// Order. A run waits for the last writes of all its arrays, joined into one fence, and ends with one fence. copy_batch
// tracks each array with it. A via_batch runs again and again, so it saves that work: PreparedBatch keeps the fence of
// its latest run. If no array has been written by others since (write_changes() reports that), the next run waits for
// that fence alone, or for nothing on the same stream. It holds its arrays until the latest run has ended, so sources
// need no fence of their own.
//
// Memory. Lists and tables of a batch are cached for the next one (CachedObjects, DescriptorTable). A table is reused
// once the fence of its last run is complete, and a graph that captured a run holds it.
//
// Failures. All pairs are checked before the first is touched. An error names the pair: "copy 3 of 10: ...". A
// failure in the middle of a run waits for what was queued.
#pragma once

#include <cstdint>

#include "copy/planned_copy.hpp"
#include "core/array/array.hpp"

namespace via {

VIA_NODISCARD Status make_batch(via_batch **out_batch);
void retain_batch(via_batch *batch);
void release_batch(via_batch *batch);

// Checks the copy and holds both arrays. Do not call it while another thread uses the batch. Submitted tasks are no use
// of the batch.
VIA_NODISCARD Status add_to_batch(via_batch *batch, via_array *dst, via_array *src);

// Does the same for a copy that is checked and planned, which the batch holds.
VIA_NODISCARD Status add_planned_to_batch(via_batch *batch, PlannedCopy *copy);

int64_t batch_size(via_batch *batch);

// Runs every copy in stream order, as copy_array_async does. Checks all of them before it touches the first.
VIA_NODISCARD Status run_batch(via_batch *batch, via_stream *stream);

// Submits the copies as one task, after the work of the stream unless that is nullptr.
VIA_NODISCARD Status submit_batch(via_batch *batch, via_stream *stream, via_task **out_task);

// Runs copies without a batch. Pairs must not overlap one another. Checks all of them before it touches the first.
VIA_NODISCARD Status copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream);

}  // namespace via
