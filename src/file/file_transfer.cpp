#include "file/file_transfer.hpp"

#include <mutex>

#include "copy/copy.hpp"
#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/normalise.hpp"
#include "copy/submit.hpp"
#include "core/array/view.hpp"
#include "core/async/task.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"
#include "file/atomic_replace.hpp"
#include "file/move_range.hpp"
#include "file/packed_range.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

// Elements of a destination must not share bytes.
Status check_apart(via_array *array) {
    UniqueArray dense;
    Plan plan;
    VIA_TRY(make_stand_in(array, dense.out()));
    VIA_TRY(normalise_copy(array, dense.get(), &plan));
    return check_self_overlap(plan);
}

Status check_layout(const FileTransfer &transfer) {
    via_array *array = transfer.array;
    if (array->size == 0 || is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        return VIA_OK;
    }
    if (array->is_packed()) {
        return fail(VIA_ERROR_UNSUPPORTED, "elements of %s are packed, and not adjacent; expected whole bytes",
                    DtypeName(array->dtype).text);
    }
    return transfer.towards == Towards::Memory ? check_apart(array) : VIA_OK;
}

Status check_mode(via_file *file) {
    return file->may_write() ? VIA_OK
                             : fail(VIA_ERROR_READ_ONLY,
                                    "the file was not opened for writing; "
                                    "expected VIA_MODE_READ_WRITE, in Python 'r+'");
}

// From the first byte of the transfer to the last.
int64_t span_of(const FileTransfer &transfer) {
    if (transfer.layout == nullptr) {
        return transfer.array->nbytes();
    }
    return byte_span(transfer.layout).high;
}

FileExtents find_places(const FileTransfer &transfer, const FileRange &range) {
    return transfer.layout != nullptr ? extents_of(transfer.layout, range.offset) : adjacent_extents(range);
}

Status read_range(const FileTransfer &transfer, via_task *task, Fence **out_fence) {
    via_file *file = transfer.file;
    const UniqueOpenFile open(file->hold_open());
    FileRange range{};
    VIA_TRY(find_range(file, open.get(), transfer.byte_offset, span_of(transfer), &range));
    return move_range({open.get(), find_places(transfer, range), transfer.array, Towards::Memory, file->page_cache,
                       false, false, task},
                      out_fence);
}

void note_size(via_file *file, int64_t end) {
    int64_t known = file->nbytes_known;
    while (known < end && !file->nbytes_known.compare_exchange_weak(known, end)) {
    }
}

// ext4 begins to write out a file that takes another's name, but for blocks that were set aside: a power cut could take
// both for longer. What goes past the page cache is not in that danger.
bool may_reserve(via_file *file) {
    return !file->atomic_write || file->durable || file->page_cache == VIA_PAGE_CACHE_AVOID;
}

// Towards a file nothing is left to a device.
Status write_range(const FileTransfer &transfer, OpenFile *open, const FileRange &range, via_task *task) {
    UniqueFence none;
    VIA_TRY(check_size_limit(open, range.offset + range.nbytes));
    VIA_TRY(move_range({open, find_places(transfer, range), transfer.array, Towards::File, transfer.file->page_cache,
                        transfer.file->durable, may_reserve(transfer.file), task},
                       none.out()));
    note_size(transfer.file, range.offset + range.nbytes);
    return VIA_OK;
}

Status write_replacement(const FileTransfer &transfer, const FileRange &range, via_task *task) {
    const std::lock_guard one_at_a_time(transfer.file->writing);
    AtomicReplace replacement(transfer.file);
    // Around rows there is something to keep, and behind packed elements.
    VIA_TRY(replacement.begin(transfer.layout == nullptr ? FileRange{range.offset, whole_bytes(transfer.array)}
                                                         : FileRange{}));
    VIA_TRY(write_range(transfer, replacement.open(), range, task));
    return replacement.commit();
}

Status write_in_place(const FileTransfer &transfer, const FileRange &range, via_task *task) {
    const UniqueOpenFile open(transfer.file->hold_open());
    VIA_TRY(write_range(transfer, open.get(), range, task));
    if (!transfer.file->durable) {
        return VIA_OK;
    }
    VIA_TRY(make_durable(open.get()));
    return transfer.file->is_made ? make_name_durable(open.get()->path()) : VIA_OK;
}

// Waits on the host for what comes before a transfer that is waited for.
Status await_transfer(via_array *array, via_stream *stream) {
    const bool orders = stream != nullptr || !is_plain(array);
    UniqueFence fence;
    if (orders) {
        VIA_TRY(
            dependency_of_stream(stream != nullptr ? stream : cuda::legacy_stream(), array->device_id, fence.out()));
    }
    VIA_TRY(fence.get() != nullptr ? fence.get()->wait() : VIA_OK);
    return await_arrays(array, nullptr);
}

Status transfer_now(const FileTransfer &given, via_stream *stream) {
    OrderedTransfer ordered;
    VIA_TRY(ordered.order(given));
    VIA_TRY(check_transfer(ordered.get()));
    VIA_TRY(await_transfer(given.array, stream));
    UniqueFence fence;
    VIA_TRY(run_transfer(ordered.get(), nullptr, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

}  // namespace

Status OrderedTransfer::order(const FileTransfer &given) {
    transfer_ = given;
    const bool is_window = given.file->whole != nullptr;
    VIA_TRY(is_window ? check_whole_window(given.byte_offset, {})
                      : check_whole_file(given.file, given.byte_offset, given.array));
    if (is_window) {
        VIA_TRY(order_window(given.file, given.array, array_.out(), layout_.out()));
        transfer_.file = given.file->whole;
        transfer_.byte_offset = first_byte(layout_.get());
    } else if (given.file->header.column_major && given.array->ndim > 1) {
        VIA_TRY(permute_view(given.array, nullptr, array_.out()));
    } else {
        retain_array(given.array);
        *array_.out() = given.array;
    }
    transfer_.array = array_.get();
    transfer_.layout = layout_.get();
    return VIA_OK;
}

Status check_transfer(const FileTransfer &transfer) {
    FileRange range{};
    if (transfer.towards == Towards::File) {
        VIA_TRY(check_mode(transfer.file));
        VIA_TRY(find_range_to_write(transfer.file, transfer.byte_offset, span_of(transfer), &range));
    } else {
        VIA_TRY(check_writable(transfer.array));
        const UniqueOpenFile open(transfer.file->hold_open());
        VIA_TRY(find_range(transfer.file, open.get(), transfer.byte_offset, span_of(transfer), &range));
    }
    VIA_TRY(check_layout(transfer));
    return is_plain(transfer.array) ? VIA_OK : cuda::need("a transfer of CUDA's memory");
}

Status run_transfer(const FileTransfer &transfer, via_task *task, Fence **out_fence) {
    if (transfer.towards == Towards::Memory) {
        return read_range(transfer, task, out_fence);
    }
    FileRange range{};
    VIA_TRY(find_range_to_write(transfer.file, transfer.byte_offset, span_of(transfer), &range));
    return transfer.file->atomic_write ? write_replacement(transfer, range, task)
                                       : write_in_place(transfer, range, task);
}

Status read_array(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream) {
    return transfer_now({file, dst, Towards::Memory, byte_offset}, stream);
}

Status write_array(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream) {
    return transfer_now({file, src, Towards::File, byte_offset}, stream);
}

}  // namespace via
