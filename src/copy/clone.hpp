// Copies an array into a new one.
#pragma once

#include "core/array/array.hpp"

namespace via {

// Makes a row-major, writable array in memory of a kind: VIA_DEVICE_CPU, _CUDA, _CUDA_HOST or _CUDA_MANAGED (device_id
// as for via_wrap). Copies in stream order. With nullptr or no_sync, and in pageable memory, the content is there on
// return. Errors: as copy_array_async; VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status clone_to(via_array *src, int32_t device_type, int32_t device_id, via_stream *stream,
                              via_array **out_array);

}  // namespace via
