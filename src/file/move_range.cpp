#include "file/move_range.hpp"

#include "copy/bits.hpp"
#include "copy/copy_plan.hpp"
#include "core/async/task.hpp"
#include "file/io_chunks.hpp"
#include "file/move_converted.hpp"
#include "file/read_write.hpp"
#include "file/window.hpp"

namespace via {
namespace {

// ---- Host memory.

Status move_host_range(const RangeTransfer &transfer, ExtentIo &extent_io, const IoRun &run) {
    via_array *array = transfer.array;
    return is_contiguous(array, VIA_ORDER_ROW_MAJOR)
               ? move_adjacent(extent_io, transfer.direction, 0, array->data, run.total, run)
               : move_slabs(extent_io, transfer.direction, array, run);
}

// ---- Device memory: through the ring of pinned slots, or a buffer at a time.

Status move_device_range(const RangeTransfer &transfer, ExtentIo &extent_io, const IoRun &run, Fence **out_fence) {
    bool is_done = false;
    VIA_TRY(move_staged(transfer.array, transfer.direction, &extent_io, extent_io.bytes_from_border(0), run, &is_done,
                        out_fence));
    const auto move = [&](char *memory, int64_t offset, int64_t nbytes) {
        return move_adjacent(extent_io, transfer.direction, offset, memory, nbytes,
                             {run.threads, offset, run.total, run.task});
    };
    return is_done ? VIA_OK : bounce_slabs(transfer.array, transfer.direction, move);
}

// ---- Packed elements, which are adjacent or were refused. The rest of a partly used last byte belongs to others, and
// is preserved, in memory and in the file.

int32_t bits_in_last_byte(via_array *array) { return static_cast<int32_t>(array->size % 8 * array->item_bits % 8); }

Status move_last_byte(const RangeTransfer &transfer, int32_t bits) {
    const int64_t last = transfer.extents.nbytes - 1;
    const int64_t offset = transfer.extents.offset + last;
    char of_array = 0;
    char of_file = 0;
    UniqueArray there;
    UniqueArray here;
    int64_t found = 0;
    VIA_TRY(view_bytes(transfer.array, last, 1, there.out()));
    VIA_TRY(make_dense(there.get(), VIA_UINT8, &of_array, here.out()));
    VIA_TRY(copy_and_wait(here.get(), there.get()));
    if (transfer.is_read()) {
        VIA_TRY(read_all(transfer.open, &of_file, offset, 1));
        copy_bits(&of_array, 0, &of_file, 0, bits);
        return copy_and_wait(there.get(), here.get());
    }
    VIA_TRY(read_up_to(transfer.open, &of_file, offset, 1, &found));
    copy_bits(&of_file, 0, &of_array, 0, bits);
    return write_all(transfer.open, &of_file, offset, 1);
}

Status move_packed_range(const RangeTransfer &transfer, Fence **out_fence) {
    const int64_t nbytes = whole_bytes(transfer.array);
    if (nbytes < transfer.extents.nbytes) {
        VIA_TRY(move_last_byte(transfer, bits_in_last_byte(transfer.array)));
    }
    UniqueArray bytes;
    RangeTransfer whole = transfer;
    VIA_TRY(view_bytes(transfer.array, 0, nbytes, bytes.out()));
    whole.array = bytes.get();
    whole.extents = adjacent_extents({transfer.extents.offset, nbytes});
    VIA_TRY(move_range(whole, out_fence));
    report_progress(transfer.task, transfer.extents.nbytes);
    return VIA_OK;
}

}  // namespace

int64_t whole_bytes(via_array *array) {
    return array->nbytes() - (array->is_packed() && bits_in_last_byte(array) != 0 ? 1 : 0);
}

Status move_range(const RangeTransfer &transfer, Fence **out_fence) {
    if (transfer.extents.nbytes == 0) {
        return VIA_OK;
    }
    const bool converts = transfer.conversion != nullptr;
    const bool on_device = transfer.array->device_type == VIA_DEVICE_CUDA;
    if (!converts && transfer.array->is_packed()) {
        return move_packed_range(transfer, out_fence);
    }
    FileIo file_io(transfer.open, transfer.page_cache, transfer.durable, converts || on_device);
    ExtentIo extent_io(file_io, transfer.extents);
    VIA_TRY(transfer.reserves ? extent_io.prepare_write() : VIA_OK);
    const IoRun run{extent_io.workers(transfer.direction), 0, transfer.extents.nbytes, transfer.task};
    return converts    ? move_converted(transfer, extent_io, run.threads, out_fence)
           : on_device ? move_device_range(transfer, extent_io, run, out_fence)
                       : move_host_range(transfer, extent_io, run);
}

}  // namespace via
