// The bytes of a range, to and from memory that the host reaches.
#include "file/file_transfer.hpp"

namespace via {
namespace {

Status move_host_range(const RangeTransfer &transfer) {
    via_array *array = transfer.array;
    const int64_t nbytes = transfer.places.nbytes;
    Channel channel(transfer.open, transfer.page_cache, transfer.durable, false);
    Rows rows(channel, transfer.places);
    VIA_TRY(transfer.reserves ? rows.prepare_write() : VIA_OK);
    const int32_t threads = transfer.towards == Towards::Memory ? rows.readers(0, nbytes) : rows.writers(nbytes);
    if (is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        AdjacentParts parts(rows, transfer.towards, 0, array->data, nbytes);
        return move_parts(&parts, threads, 0, nbytes, transfer.task);
    }
    BoxParts parts(rows, transfer.towards, 0, array, rows.piece_bytes());
    return move_parts(&parts, threads, 0, nbytes, transfer.task);
}

}  // namespace

Status move_range(const RangeTransfer &transfer, Mark **out_mark) {
    if (transfer.places.nbytes == 0) {
        return VIA_OK;
    }
    if (transfer.array->is_packed()) {
        return move_packed_range(transfer, out_mark);
    }
    return transfer.array->device_type == VIA_DEVICE_CUDA ? move_device_range(transfer, out_mark)
                                                          : move_host_range(transfer);
}

}  // namespace via
