// Streams as handles, without a type of CUDA's.
//
// Four special handles mean different things: legacy, per-thread, "no sync", and NULL, whose meaning is the called
// function's. Legacy and per-thread are streams of the current device and the calling thread. resolve() replaces them
// before a call returns, and neither ever reaches another thread.
#pragma once

#include <cstdint>

#include "core/base/status.hpp"

namespace via::cuda {

via_stream *legacy_stream();
via_stream *per_thread_stream();
via_stream *no_sync_stream();
bool is_shared_stream(via_stream *stream);  // retaining and releasing it does nothing

// As a device_id: the stream's own device; of legacy and per-thread that of the memory in each call.
inline constexpr int32_t kDeviceAtHand = -1;

VIA_NODISCARD Status create_stream(int32_t device_id, via_stream **out_stream);
VIA_NODISCARD Status wrap_stream(void *native, int32_t device_id, via_stream **out_stream);
void retain_stream(via_stream *stream);
void release_stream(via_stream *stream);
void *native_stream(via_stream *stream);
int32_t device_of_stream(via_stream *stream);
VIA_NODISCARD Status synchronize_stream(via_stream *stream);
VIA_NODISCARD Status query_stream(via_stream *stream, int32_t *out_done);

// Set and return the current stream of each thread and device.
VIA_NODISCARD Status set_current_stream(int32_t device_id, via_stream *stream);

VIA_NODISCARD Status current_stream(int32_t device_id, via_stream **out_stream);

}  // namespace via::cuda
