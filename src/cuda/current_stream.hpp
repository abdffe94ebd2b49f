// The current stream of each thread and device.
#pragma once

#include "core/base/status.hpp"

namespace via::cuda {

VIA_NODISCARD Status set_current_stream(int32_t device_id, via_stream *stream);

VIA_NODISCARD Status current_stream(int32_t device_id, via_stream **out_stream);

}  // namespace via::cuda
