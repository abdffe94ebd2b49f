// Many copies prepared as one.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

VIA_NODISCARD Status make_batch(via_batch **out_batch);
void retain_batch(via_batch *batch);
void release_batch(via_batch *batch);

// Checks the copy and holds both arrays. Not while another thread uses the batch; tasks made of it are no use of it.
VIA_NODISCARD Status add_to_batch(via_batch *batch, via_array *dst, via_array *src);

int64_t batch_size(via_batch *batch);

// Every copy, in stream order, as copy_array_async does one; all are checked before the first is touched.
VIA_NODISCARD Status run_batch(via_batch *batch, via_stream *stream);

// As one task; nullptr: after no stream.
VIA_NODISCARD Status submit_batch(via_batch *batch, via_stream *stream, via_task **out_task);

// The same for pairs that do not overlap one another; all are checked before the first is touched.
VIA_NODISCARD Status copy_batch(int32_t count, via_array *const *dsts, via_array *const *srcs, via_stream *stream);

}  // namespace via
