// Tracks accesses of arrays on streams. `stream` may be any handle, NULL meaning legacy, and no_sync only where that is
// said.
#pragma once

#include "core/array/access_tracker.hpp"
#include "core/array/array.hpp"

namespace via::cuda {

// Returns the device of special handles: the array's own; for host, pinned and managed memory that of the current
// context, or 0.
int32_t device_at_hand(via_array *array);

// Implement via_array_record_stream and via_array_set_ready. On a stream being captured the graph holds the array
// instead.
VIA_NODISCARD Status record_use(via_array *array, via_stream *stream);
VIA_NODISCARD Status record_ready(via_array *array, via_stream *stream);

// Makes the consumer's stream wait until an exported array is ready. Does nothing for no_sync. Waits on the host for a
// stream being captured, since the export is of the present content.
VIA_NODISCARD Status order_export(via_array *array, via_stream *stream);

// Makes the content of an imported array ready after the producer's work so far. With no_sync it is ready now.
VIA_NODISCARD Status order_import(via_array *array, via_stream *stream);

// Makes a resolved stream wait until the array is ready.
VIA_NODISCARD Status wait_until_ready(via_array *array, const ResolvedStream &resolved);
// Tracks a copy that was just queued: one fence is the last write of dst and an access of src. In a capture the graph
// holds both. src is nullptr for a fill.
VIA_NODISCARD Status note_copy(via_array *dst, via_array *src, const ResolvedStream &resolved);

// Makes later work of the stream wait for the fence, for via_task_join. Waits on the host if Fence::make_stream_wait
// does.
VIA_NODISCARD Status join(via_stream *stream, Fence *fence);

}  // namespace via::cuda
