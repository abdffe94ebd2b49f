// When what is lent may be read by its consumer, and when what is taken may be read here.
//
// Memory that only the host can name (CPU) is waited for on the host. A CUDA device's is ordered on a stream. Pinned
// and managed memory serve both: with a stream they are ordered on it, without one the host waits.
#pragma once

#include "core/array/array.hpp"

namespace via {

// Makes what the consumer does on `stream` come after the content is ready. `device_type` is what the consumer is told,
// which is not the array's own where memory goes under another name. NULL means the legacy stream on a CUDA device and
// no stream elsewhere; no_sync leaves a CUDA consumer to itself.
// Errors: VIA_ERROR_INVALID_ARGUMENT for a stream on host memory; what waiting or the driver answers.
VIA_NODISCARD Status order_any_consumer(via_array *array, int32_t device_type, via_stream *stream);
VIA_NODISCARD inline Status order_consumer(via_array *array, int32_t device_type, via_stream *stream) {
    const bool is_ordered = !array->storage->may_be_pending() && (stream == nullptr || device_type != VIA_DEVICE_CPU);
    return is_ordered ? VIA_OK : order_any_consumer(array, device_type, stream);
}

// The content of an array just taken is ready after the stream's work so far: NULL means the legacy stream for CUDA and
// managed memory, and that it is ready now for the host's; no_sync means that it is ready now.
VIA_NODISCARD Status order_producer(via_array *array, via_stream *stream);

// A stream is given where the host is to read: refused.
VIA_NODISCARD Status check_no_stream(via_stream *stream);

}  // namespace via
