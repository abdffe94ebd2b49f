// The bytes of a range, to and from memory that the host reaches.
#include "file/move_range.hpp"
#include "file/device_range.hpp"
#include "file/file_transfer.hpp"
#include "file/packed_range.hpp"
#include "file/parallel_io.hpp"

namespace via {
namespace {

Status move_host_range(const RangeTransfer &transfer) {
    via_array *array = transfer.array;
    const int64_t nbytes = transfer.extents.nbytes;
    FileIo file_io(transfer.open, transfer.page_cache, transfer.durable, false);
    Rows rows(file_io, transfer.extents);
    VIA_TRY(transfer.reserves ? rows.prepare_write() : VIA_OK);
    const int32_t threads = transfer.towards == Towards::Memory ? rows.readers(0, nbytes) : rows.writers(nbytes);
    if (is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        AdjacentChunks parts(rows, transfer.towards, 0, array->data, nbytes);
        return parallel_io(&parts, threads, 0, nbytes, transfer.task);
    }
    SlabParts parts(rows, transfer.towards, 0, array, rows.piece_bytes());
    return parallel_io(&parts, threads, 0, nbytes, transfer.task);
}

}  // namespace

Status move_range(const RangeTransfer &transfer, Fence **out_fence) {
    if (transfer.extents.nbytes == 0) {
        return VIA_OK;
    }
    if (transfer.array->is_packed()) {
        return move_packed_range(transfer, out_fence);
    }
    return transfer.array->device_type == VIA_DEVICE_CUDA ? move_device_range(transfer, out_fence)
                                                          : move_host_range(transfer);
}

}  // namespace via
