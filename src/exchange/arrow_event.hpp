// The event by which Arrow says when memory of a device may be read: a pointer to a cudaEvent_t.
#pragma once

#include "core/array/array.hpp"

namespace via {

// An event that is reached when the array is ready, to be released by the caller; nullptr if it is ready now.
VIA_NODISCARD Status make_ready_event(via_array *array, via_event **out_event);

// The array just taken is ready when *sync_event has been reached (nullptr: after the stream's work so far), and
// `stream`, if it is one, waits for that on the device. no_sync: the caller has seen to it.
VIA_NODISCARD Status follow_event(via_array *array, void *sync_event, via_stream *stream);

}  // namespace via
