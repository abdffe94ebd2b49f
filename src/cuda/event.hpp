// Events, for the rooms above: handles only, no type of CUDA's.
#pragma once

#include "core/base/status.hpp"

namespace via::cuda {

VIA_NODISCARD Status create_event(int32_t device_id, via_event **out_event);

VIA_NODISCARD Status wrap_event(void *native, int32_t device_id, via_event **out_event);

void retain_event(via_event *event);

void release_event(via_event *event);

void *native_event(via_event *event);

VIA_NODISCARD Status record_event(via_event *event, via_stream *stream);

VIA_NODISCARD Status query_event(via_event *event, int32_t *out_done);

VIA_NODISCARD Status synchronize_event(via_event *event);

VIA_NODISCARD Status make_stream_wait(via_stream *stream, via_event *event);

}  // namespace via::cuda
