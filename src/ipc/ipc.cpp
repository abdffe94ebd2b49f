#include "ipc/ipc.hpp"

#include <unistd.h>

#include "core/array/access_tracker.hpp"
#include "core/base/checked.hpp"
#include "core/base/no_cancellation.hpp"
#include "core/layout/dtype.hpp"
#include "cuda/ipc_handle.hpp"
#include "ipc/lease.hpp"
#include "ipc/shared_memory.hpp"
#include "ipc/ticket.hpp"

namespace via {
namespace {

Status locate_on_host(via_array *array, Ticket *ticket) {
    const char *start = nullptr;
    if (!find_shared_file(array, &ticket->file, &start)) {
        return fail(VIA_ERROR_UNSUPPORTED,
                    "the array is ordinary host memory, which another process cannot map; expected memory of "
                    "VIA_MEMORY_SHARED, such as a copy there");
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
                        "the array is %s memory, which another process cannot map; expected memory of "
                        "VIA_MEMORY_SHARED or of a CUDA device, such as a copy there",
                        array->device_type == VIA_DEVICE_CUDA_HOST ? "pinned" : "managed");
    }
}

void close_lease(void *descriptor) { close_descriptor(static_cast<int>(reinterpret_cast<intptr_t>(descriptor))); }

// The context is the imported memory, the address stands for the descriptor of its lease, which is closed last.
void end_import(const Deleter &deleter) {
    cuda::close_memory(static_cast<cuda::OpenedMemory *>(deleter.context), close_lease, deleter.address);
}

// Memory that a ticket names, in this process.
struct Memory {
    char *start;
    int64_t nbytes;
    int32_t device_id;
    Deleter deleter;
};

Status open_on_host(const Ticket &ticket, Memory *out_memory) {
    VIA_TRY(map_shared_file(ticket.file, (ticket.flags & VIA_ARRAY_READ_ONLY) == 0, &out_memory->deleter));
    out_memory->start = static_cast<char *>(out_memory->deleter.address);
    out_memory->nbytes = out_memory->deleter.nbytes;
    return VIA_OK;
}

Status open_on_device(const Ticket &ticket, Memory *out_memory) {
    if (ticket.file.process == getpid()) {
        return fail(VIA_ERROR_EXCHANGE,
                    "the description is of this process, and the driver maps no device memory twice; expected one of "
                    "another process: use the array itself");
    }
    void *start = nullptr;
    cuda::OpenedMemory *opened = nullptr;
    int lease = -1;
    VIA_TRY(join_lease(ticket.file, &lease));
    if (Status status = cuda::open_memory(ticket.memory, &out_memory->device_id, &start, &out_memory->nbytes, &opened);
        status != VIA_OK) {
        close_descriptor(lease);
        return status;
    }
    out_memory->start = static_cast<char *>(start);
    out_memory->deleter = {end_import, nullptr, opened, reinterpret_cast<void *>(intptr_t{lease}), 0, nullptr, true};
    return VIA_OK;
}

Status find_memory(const Ticket &ticket, Memory *out_memory) {
    const bool on_device = ticket.device_type == VIA_DEVICE_CUDA;
    if (ticket.file.descriptor < 0) {
        return on_device ? cuda::find_named_device(ticket.memory, &out_memory->device_id) : VIA_OK;
    }
    return on_device ? open_on_device(ticket, out_memory) : open_on_host(ticket, out_memory);
}

// Checks that every byte of the array is inside the memory, whoever wrote the description.
Status check_inside(via_array *array, const Ticket &ticket, const Memory &memory) {
    const ByteSpan span = byte_span(array);
    int64_t low = 0;
    int64_t high = 0;
    const bool inside =
        add(ticket.offset, span.low, &low) && add(ticket.offset, span.high, &high) && low >= 0 && high <= memory.nbytes;
    return inside ? VIA_OK
                  : fail(VIA_ERROR_EXCHANGE,
                         "the description takes bytes %lld to %lld of the memory; expected them within %lld bytes",
                         as_printed(low), as_printed(high), as_printed(memory.nbytes));
}

Status make_imported(const Ticket &ticket, const Memory &memory, via_array **out_array) {
    const auto start = reinterpret_cast<uintptr_t>(memory.start);
    ArraySpec spec{.data = reinterpret_cast<void *>(start + static_cast<uintptr_t>(ticket.offset)),
                   .dtype = ticket.dtype,
                   .ndim = ticket.ndim,
                   .shape = ticket.shape(),
                   .strides = ticket.steps(),
                   .device_type = ticket.device_type,
                   .device_id = memory.device_id,
                   .flags = ticket.flags};
    VIA_TRY(check_dtype("dtype", ticket.dtype));
    spec.unit = item_bits_of(ticket.dtype, ticket.flags) % 8 != 0 ? StrideUnit::Elements : StrideUnit::Bytes;
    return make_checked_array(spec, memory.deleter, out_array,
                              [&](via_array *array) { return check_inside(array, ticket, memory); });
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

Status import_ticket(const void *bytes, int64_t length, via_array **out_array) {
    Ticket ticket;
    VIA_TRY(read_ticket(bytes, length, &ticket));
    Memory memory{};
    VIA_TRY(find_memory(ticket, &memory));
    const Status status = make_imported(ticket, memory, out_array);
    if (status != VIA_OK && memory.deleter.run != nullptr) {
        const CallbackScope scope;
        memory.deleter.run(memory.deleter);
    }
    return status;
}

}  // namespace via
