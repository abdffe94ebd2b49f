#include "core/array/access_tracker.hpp"
#include "cuda/ipc_handle.hpp"
#include "ipc/lease.hpp"
#include "ipc/ipc.hpp"
#include "ipc/shared_memory.hpp"
#include "ipc/ticket.hpp"

namespace via {
namespace {

Status locate_on_host(via_array *array, Ticket *ticket) {
    const char *start = nullptr;
    if (!find_shared_file(array, &ticket->file, &start)) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "the array is ordinary host memory, which another process cannot map; expected memory made with "
                    "VIA_MEMORY_SHARED: copy it there");
    }
    ticket->offset = static_cast<const char *>(array->data) - start;
    return VIA_OK;
}

Status locate_on_device(via_array *array, Ticket *ticket) {
    VIA_TRY(cuda::share_memory(array->data, array->device_id, &ticket->memory, &ticket->offset));
    return lease_storage(array->storage, &ticket->file);
}

Status locate(via_array *array, Ticket *ticket) {
    switch (array->device_type) {
        case VIA_DEVICE_CPU:
            return array->size > 0 ? locate_on_host(array, ticket) : VIA_OK;
        case VIA_DEVICE_CUDA:
            return array->size > 0 ? locate_on_device(array, ticket)
                                   : cuda::name_device(array->device_id, &ticket->memory);
        default:
            return fail(VIA_ERROR_UNSUPPORTED,
                        "the array is %s memory, which another process cannot map; expected memory made with "
                        "VIA_MEMORY_SHARED, or that of a CUDA device: copy it there",
                        array->device_type == VIA_DEVICE_CUDA_HOST ? "pinned" : "managed");
    }
}

}  // namespace

Status export_ticket(via_array *array, int64_t capacity, void *bytes, int64_t *out_length) {
    Ticket ticket;
    describe_array(array, &ticket);
    VIA_TRY(wait_until_ready(array->storage));
    VIA_TRY(locate(array, &ticket));
    write_ticket(&ticket, capacity, bytes, out_length);
    return VIA_OK;
}

}  // namespace via
