// Orders the consumer of an export, and the content of an import, on streams.
//
// Host memory is waited for on the host. CUDA memory is ordered on a stream. Pinned and managed memory is ordered on
// the stream if one is given, otherwise waited for on the host.
#pragma once

#include "core/array/array.hpp"

namespace via {

// Makes the consumer's work on `stream` wait until the content is ready. `device_type` is the one exported, which may
// differ from the array's. NULL means the legacy stream on a CUDA device and no stream elsewhere; no_sync orders
// nothing. Errors: VIA_ERROR_INVALID_ARGUMENT for a stream on host memory; those of waiting and of the driver.
VIA_NODISCARD Status order_any_consumer(via_array *array, int32_t device_type, via_stream *stream);
VIA_NODISCARD inline Status order_consumer(via_array *array, int32_t device_type, via_stream *stream) {
    const bool is_ordered = !array->storage->may_be_pending() && (stream == nullptr || device_type != VIA_DEVICE_CPU);
    return is_ordered ? VIA_OK : order_any_consumer(array, device_type, stream);
}

// Makes the content of an imported array ready after the work queued on `stream` so far. NULL means the legacy stream
// for CUDA and managed memory, and ready now for host and pinned memory; no_sync means ready now.
VIA_NODISCARD Status order_producer(via_array *array, via_stream *stream);

// Refuses a stream for host memory.
VIA_NODISCARD Status check_no_stream(via_stream *stream);

}  // namespace via
