// The bytes of packed elements, which are adjacent or were refused. Where they end inside a byte, the rest of it
// belongs to others, in memory as in the file, and is kept.
#include "file/packed_range.hpp"
#include "copy/copy.hpp"
#include "copy/submit.hpp"
#include "copy/trailing_bits.hpp"
#include "core/async/task.hpp"
#include "file/file_transfer.hpp"
#include "file/move_range.hpp"
#include "file/read_write.hpp"
#include "file/window.hpp"

namespace via {
namespace {

int32_t bits_in_last_byte(via_array *array) { return static_cast<int32_t>(array->size % 8 * array->item_bits % 8); }

Status view_bytes(via_array *array, int64_t first, int64_t nbytes, via_array **out_view) {
    return make_view(array, static_cast<char *>(array->data) + first, VIA_UINT8, {1, {nbytes}, {1}}, array->flags,
                     out_view);
}

Status move_last_byte(const RangeTransfer &transfer, int32_t bits) {
    const int64_t last = transfer.extents.nbytes - 1;
    const int64_t offset = transfer.extents.offset + last;
    char of_array = 0;
    char of_file = 0;
    UniqueArray there;
    UniqueArray here;
    int64_t found = 0;
    VIA_TRY(view_bytes(transfer.array, last, 1, there.out()));
    VIA_TRY(make_dense(there.get(), &of_array, here.out()));
    VIA_TRY(copy_and_wait(here.get(), there.get()));
    if (transfer.towards == Towards::Memory) {
        VIA_TRY(read_all(transfer.open, &of_file, offset, 1));
        copy_trailing_bits(&of_array, &of_file, bits);
        return copy_and_wait(there.get(), here.get());
    }
    VIA_TRY(read_up_to(transfer.open, &of_file, offset, 1, &found));
    copy_trailing_bits(&of_file, &of_array, bits);
    return write_all(transfer.open, &of_file, offset, 1);
}

}  // namespace

int64_t whole_bytes(via_array *array) {
    return array->nbytes() - (array->is_packed() && bits_in_last_byte(array) != 0 ? 1 : 0);
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

}  // namespace via
