// The bytes of a range, to and from memory that the host reaches.
#include "file/transfer.hpp"

namespace via {
namespace {

Status move_host_range(const RangeTransfer &transfer) {
    via_array *array = transfer.array;
    const int64_t nbytes = transfer.range.nbytes;
    Channel channel(transfer.open, transfer.page_cache, transfer.durable, false);
    VIA_TRY(transfer.towards == Towards::File ? channel.prepare_write(transfer.range.offset, nbytes) : VIA_OK);
    const int32_t threads =
        transfer.towards == Towards::Memory ? channel.readers(transfer.range.offset, nbytes) : channel.writers(nbytes);
    if (is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        AdjacentParts parts(channel, transfer.towards, transfer.range.offset, array->data, nbytes);
        return move_parts(&parts, threads, 0, nbytes, transfer.task);
    }
    BoxParts parts(channel, transfer.towards, transfer.range.offset, array, Channel::kPieceBytes);
    return move_parts(&parts, threads, 0, nbytes, transfer.task);
}

}  // namespace

Status move_range(const RangeTransfer &transfer, Mark **out_mark) {
    if (transfer.range.nbytes == 0) {
        return VIA_OK;
    }
    return transfer.array->device_type == VIA_DEVICE_CUDA ? move_device_range(transfer, out_mark)
                                                          : move_host_range(transfer);
}

}  // namespace via
