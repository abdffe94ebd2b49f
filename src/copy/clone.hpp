// A fresh array with the elements of another.
#pragma once

#include "core/array/array.hpp"

namespace via {

// A row-major array on the same device, writable whatever `src` is; its content is there on return.
VIA_NODISCARD Status clone(via_array *src, via_array **out_array);

// The same on another device: VIA_DEVICE_CPU, _CUDA, _CUDA_HOST or _CUDA_MANAGED (device_id as for via_wrap). Copied in
// the order of `stream`, its content ready behind that; nullptr and no_sync: the content is there on return, and so it
// is in pageable memory. Errors: as copy_array_async; VIA_ERROR_DEVICE, VIA_ERROR_OUT_OF_MEMORY.
VIA_NODISCARD Status clone_to(via_array *src, int32_t device_type, int32_t device_id, via_stream *stream,
                              via_array **out_array);

}  // namespace via
