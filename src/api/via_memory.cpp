#include "core/array/memory.hpp"

#include "api/guard.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/custom_cuda_memory.hpp"
#include "cuda/device.hpp"
#include "ipc/ipc.hpp"

using namespace via;

via_status via_memory_create(int32_t kind, int32_t device_id, via_memory **out_memory) {
    VIA_TRACE_API(via_memory_create, kind, device_id, out_memory);
    return guarded(__func__, output("out_memory", out_memory), [&]() -> Status {
        if (kind < VIA_MEMORY_HOST || kind > VIA_MEMORY_SHARED) {
            return fail(VIA_ERROR_INVALID_ARGUMENT, "kind is %d; expected a VIA_MEMORY_... constant", kind);
        }
        if (kind != VIA_MEMORY_HOST && kind != VIA_MEMORY_SHARED) {
            return cuda::make_cuda_memory(kind, device_id, out_memory);
        }
        VIA_TRY(check_host_device("", VIA_DEVICE_CPU, device_id));
        *out_memory = kind == VIA_MEMORY_HOST ? host_memory() : shared_memory();
        return VIA_OK;
    });
}

via_status via_memory_create_custom(int32_t device_type, int32_t device_id, via_alloc_fn alloc, void *alloc_context,
                                    via_free_fn free_memory, void *free_context, via_release_fn release, void *context,
                                    via_memory **out_memory) {
    VIA_TRACE_API(via_memory_create_custom, device_type, device_id, alloc, alloc_context, free_memory, free_context,
                  release, context, out_memory);
    return guarded(__func__, output("out_memory", out_memory), required("alloc", reinterpret_cast<void *>(alloc)),
                   required("free_memory", reinterpret_cast<void *>(free_memory)), [&]() -> Status {
                       VIA_TRY(cuda::check_any_device("", device_type, device_id));
                       const AllocatorCallbacks callbacks{alloc,        alloc_context, free_memory,
                                                          free_context, release,       context};
                       return device_type == VIA_DEVICE_CPU
                                  ? make_custom_memory(kCustomHostKind, device_type, device_id, callbacks, out_memory)
                                  : cuda::make_custom_cuda_memory(device_type, device_id, callbacks, out_memory);
                   });
}

void via_memory_retain(via_memory *memory) {
    VIA_TRACE_API(via_memory_retain, memory);
    unless_null(memory, retain_memory);
}

void via_memory_release(via_memory *memory) {
    VIA_TRACE_API(via_memory_release, memory);
    unless_null(memory, release_memory);
}

int32_t via_memory_device_type(via_memory *memory) {
    VIA_TRACE_API(via_memory_device_type, memory);
    return memory != nullptr ? memory->device_type : 0;
}

int32_t via_memory_device_id(via_memory *memory) {
    VIA_TRACE_API(via_memory_device_id, memory);
    return memory != nullptr ? memory->device_id : 0;
}

via_status via_empty(via_memory *memory, int32_t dtype, int32_t ndim, const int64_t *shape, via_stream *stream,
                     via_array **out_array) {
    VIA_TRACE_API(via_empty, memory, dtype, ndim, shape, stream, out_array);
    return guarded(__func__, output("out_array", out_array), [&] {
        return make_empty(memory != nullptr ? memory : host_memory(), dtype, ndim, shape, 0, stream, out_array);
    });
}
