#include "cuda/ipc_handle.hpp"

#include <cstddef>
#include <cstring>

#include "core/async/task_executor.hpp"
#include "cuda/driver/context.hpp"
#include "cuda/pointer_attributes.hpp"

namespace via::cuda {

// Begins with a job, so that another thread can close it without allocating.
struct OpenedMemory {
    Job job;
    CUdeviceptr address;
    ContextKey key;
    void (*closed)(void *context);
    void *context;
};
static_assert(offsetof(OpenedMemory, job) == 0);

namespace {

static_assert(sizeof(SharedMemory::device) == sizeof(CUuuid) && sizeof(SharedMemory::handle) == sizeof(CUipcMemHandle));

Status need_sharing() {
    VIA_TRY(need_driver("memory of a device"));
    const Driver &table = driver();
    const bool there = table.cuIpcGetMemHandle != nullptr && table.cuIpcOpenMemHandle != nullptr &&
                       table.cuIpcCloseMemHandle != nullptr && table.cuDeviceGetUuid != nullptr;
    return there ? VIA_OK
                 : fail(VIA_ERROR_UNSUPPORTED, "this CUDA driver (%d) does not share memory between processes",
                        table.version);
}

Status cannot_be_shared(const void *address) {
    return fail_with_code(VIA_ERROR_UNSUPPORTED, CUDA_ERROR_INVALID_VALUE,
                          "address is %p, in memory of a pool, a mapping or another process, which the driver does not "
                          "share; expected memory of VIA_MEMORY_DEVICE, cuMemAlloc or cudaMalloc: copy it there",
                          address);
}

Status get_handle(const PointerAttributes &attributes, const void *address, SharedMemory *out_memory) {
    CUipcMemHandle handle{};
    const CUresult result = driver().cuIpcGetMemHandle(&handle, number_of(attributes.base));
    if (result == CUDA_ERROR_INVALID_VALUE) {
        return cannot_be_shared(address);
    }
    VIA_TRY(check_driver(result, "cuIpcGetMemHandle"));
    std::memcpy(out_memory->handle, &handle, sizeof handle);
    return VIA_OK;
}

// The mappings of a context that is gone are gone too.
bool close_now(const OpenedMemory &opened) {
    if (!driver_is_usable(false)) {
        return true;
    }
    const ContextState state = state_of(opened.key);
    if (state != ContextState::Alive) {
        return state == ContextState::Gone;
    }
    const RelaxedCapture relaxed;
    ContextScope scope;
    return !scope.enter_to_free(opened.key.context) ||
           driver().cuIpcCloseMemHandle(opened.address) != CUDA_ERROR_NOT_PERMITTED;
}

// A release never touches the thread's last error.
void end_opened(OpenedMemory *opened) {
    const CallbackScope scope;
    if (close_now(*opened)) {
        opened->closed(opened->context);
        delete opened;
        return;
    }
    opened->job = {[](Job *job) { end_opened(reinterpret_cast<OpenedMemory *>(job)); }, nullptr};
    (void)!execute(&opened->job);  // on failure it stays mapped
}

Status map_memory(const SharedMemory &memory, OpenedMemory *opened, int32_t device_id) {
    const RelaxedCapture relaxed;
    ContextScope scope;
    VIA_TRY(scope.enter_device(device_id, &opened->key));
    CUipcMemHandle handle{};
    std::memcpy(&handle, memory.handle, sizeof handle);
    VIA_TRY_CUDA(cuIpcOpenMemHandle(&opened->address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    return VIA_OK;
}

void release_nothing(void *) {}

}  // namespace

Status name_device(int32_t device_id, SharedMemory *out_memory) {
    VIA_TRY(need_sharing());
    CUdevice device = 0;
    VIA_TRY(find_device(device_id, &device));
    CUuuid uuid{};
    VIA_TRY_CUDA(cuDeviceGetUuid(&uuid, device));
    std::memcpy(out_memory->device, &uuid, sizeof uuid);
    return VIA_OK;
}

Status share_memory(const void *address, int32_t device_id, SharedMemory *out_memory, int64_t *out_offset) {
    VIA_TRY(name_device(device_id, out_memory));
    const RelaxedCapture relaxed;
    PointerAttributes attributes{};
    VIA_TRY(query_pointer(address, &attributes));
    if (!attributes.known || attributes.base == nullptr) {
        return fail(VIA_ERROR_POINTER, "address is %p, which the CUDA driver does not know; expected device memory",
                    address);
    }
    ContextScope scope;
    VIA_TRY(scope.enter_device(device_id));
    VIA_TRY(get_handle(attributes, address, out_memory));
    *out_offset = static_cast<const char *>(address) - static_cast<const char *>(attributes.base);
    return VIA_OK;
}

Status find_named_device(const SharedMemory &memory, int32_t *out_device_id) {
    VIA_TRY(need_sharing());
    SharedMemory candidate{};
    for (int32_t i = 0; i < driver().device_count; ++i) {
        if (name_device(i, &candidate) == VIA_OK &&
            std::memcmp(candidate.device, memory.device, sizeof memory.device) == 0) {
            *out_device_id = i;
            return VIA_OK;
        }
    }
    return fail(VIA_ERROR_DEVICE, "the memory is of a device that this process does not see; expected one of its %d",
                driver().device_count);
}

Status open_memory(const SharedMemory &memory, int32_t *out_device_id, void **out_start, int64_t *out_nbytes,
                   OpenedMemory **out_opened) {
    VIA_TRY(find_named_device(memory, out_device_id));
    OpenedMemory *opened = nullptr;
    VIA_TRY(make_object("memory of another process", &opened));
    if (Status status = map_memory(memory, opened, *out_device_id); status != VIA_OK) {
        delete opened;
        return status;
    }
    *out_start = reinterpret_cast<void *>(opened->address);
    PointerAttributes attributes{};
    if (Status status = query_pointer(*out_start, &attributes); status != VIA_OK) {
        close_memory(opened, release_nothing, nullptr);
        return status;
    }
    *out_nbytes = attributes.nbytes;
    *out_opened = opened;
    return VIA_OK;
}

void close_memory(OpenedMemory *opened, void (*closed)(void *context), void *context) {
    opened->closed = closed;
    opened->context = context;
    end_opened(opened);
}

}  // namespace via::cuda
