#include "copy/clone.hpp"

#include "copy/copy.hpp"
#include "core/array/memory.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"

namespace via {
namespace {

Status find_memory(int32_t device_type, int32_t device_id, via_memory **out_memory) {
    switch (device_type) {
        case VIA_DEVICE_CPU:
            *out_memory = host_memory();
            return VIA_OK;
        case VIA_DEVICE_CUDA:
            return cuda::make_cuda_memory(VIA_MEMORY_DEVICE, device_id, out_memory);
        case VIA_DEVICE_CUDA_HOST:
            return cuda::make_cuda_memory(VIA_MEMORY_PINNED, device_id, out_memory);
        case VIA_DEVICE_CUDA_MANAGED:
            return cuda::make_cuda_memory(VIA_MEMORY_MANAGED, device_id, out_memory);
        default:
            return fail(
                VIA_ERROR_DEVICE,
                "the target's device_type is %s; expected VIA_DEVICE_CPU, VIA_DEVICE_CUDA, VIA_DEVICE_CUDA_HOST or "
                "VIA_DEVICE_CUDA_MANAGED",
                DeviceTypeName(device_type).text);
    }
}

Status make_like(via_array *src, int32_t device_type, int32_t device_id, via_array **out_array) {
    UniqueMemory memory;
    VIA_TRY(find_memory(device_type, device_id, memory.out()));
    return make_empty(memory.get(), src->dtype, src->ndim, src->shape(), src->flags & VIA_ARRAY_SUBBYTE_PADDED,
                      out_array);
}

Status copy_in_order(via_array *dst, via_array *src, via_stream *stream) {
    const bool waits = stream == nullptr || stream == cuda::no_sync_stream() ||
                       (dst->device_type == VIA_DEVICE_CPU && src->device_type == VIA_DEVICE_CPU);
    return waits ? copy_array(dst, src) : copy_array_async(dst, src, stream);
}

// Lets the host put the elements in order first.
Status copy_by_host(via_array *dst, via_array *src, via_stream *stream) {
    UniqueArray dense;
    VIA_TRY(make_like(src, VIA_DEVICE_CPU, 0, dense.out()));
    VIA_TRY(copy_in_order(dense.get(), src, stream));
    return copy_in_order(dst, dense.get(), stream);
}

// Returns whether the host must put the elements in order. Only kernels bring some strided layouts to a device, so they
// are loaded before planning.
bool needs_host(via_array *dst, via_array *src) {
    return dst->device_type == VIA_DEVICE_CUDA && src->device_type != VIA_DEVICE_CUDA &&
           !is_contiguous(src, VIA_ORDER_ROW_MAJOR) && !cuda::loads_kernels(dst->device_id);
}

}  // namespace

Status clone_to(via_array *src, int32_t device_type, int32_t device_id, via_stream *stream, via_array **out_array) {
    UniqueArray copy;
    VIA_TRY(make_like(src, device_type, device_id, copy.out()));
    VIA_TRY(needs_host(copy.get(), src) ? copy_by_host(copy.get(), src, stream)
                                        : copy_in_order(copy.get(), src, stream));
    *out_array = copy.release();
    return VIA_OK;
}

}  // namespace via
