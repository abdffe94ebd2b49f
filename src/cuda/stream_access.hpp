// Tracks accesses of arrays on streams. `stream` may be any handle, NULL meaning legacy, and no_sync only where that is
// said.
#pragma once

#include "core/array/access_tracker.hpp"
#include "core/array/array.hpp"

namespace via::cuda {

// Returns the device of special handles: the array's own; for host, pinned and managed memory that of the current
// context, or 0.
int32_t device_at_hand(via_array *array);

// via_array_record_stream and via_array_set_ready. On a stream being captured the array is held by the graph instead.
VIA_NODISCARD Status record_use(via_array *array, via_stream *stream);
VIA_NODISCARD Status record_ready(via_array *array, via_stream *stream);

// For an export to a device's consumer: makes the stream wait until the array is ready. no_sync: does nothing.
// On a stream being captured the wait is on the host, since the content is that of now.
VIA_NODISCARD Status order_export(via_array *array, via_stream *stream);

// For an import: the content is ready after the stream's work so far. no_sync: ready now.
VIA_NODISCARD Status order_import(via_array *array, via_stream *stream);

// The same two for a call that has resolved its stream.
VIA_NODISCARD Status wait_until_ready(via_array *array, const ResolvedStream &resolved);
// The stream has just been given a copy: one fence, until which both are in use and dst is not ready; capturing: the
// graph holds both. src may be nullptr: a fill.
VIA_NODISCARD Status note_copy(via_array *dst, via_array *src, const ResolvedStream &resolved);

// For via_task_join: makes later work of the stream wait for the fence; on the host where Fence::order says so.
VIA_NODISCARD Status join(via_stream *stream, Fence *fence);

}  // namespace via::cuda
