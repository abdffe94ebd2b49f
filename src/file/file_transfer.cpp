#include "file/file_transfer.hpp"

#include <mutex>

#include "copy/copy.hpp"
#include "copy/copy_check.hpp"
#include "copy/copy_plan.hpp"
#include "copy/normalise.hpp"
#include "core/array/access_tracker.hpp"
#include "core/array/view.hpp"
#include "core/async/fence.hpp"
#include "core/async/task.hpp"
#include "cuda/device.hpp"
#include "cuda/stream.hpp"
#include "cuda/stream_access.hpp"
#include "file/atomic_replace.hpp"
#include "file/file_conversion.hpp"
#include "file/move_range.hpp"
#include "file/read_write.hpp"

namespace via {
namespace {

// Turns a transfer of a file or a window into one of the whole file, with the array's axes in the order of the file:
// the last one moves fastest. For a window, `layout` describes its elements with the same axes, and byte_offset is that
// of its first byte. Holds the file, and the arrays that it makes.
class OrderedTransfer {
public:
    VIA_NODISCARD Status order(const FileTransfer &given);
    const FileTransfer &get() const { return transfer_; }

private:
    FileTransfer transfer_{};
    UniqueFile file_;
    UniqueArray array_;
    UniqueArray layout_;
};

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
    transfer_.file->references.retain();
    file_.reset(transfer_.file);
    return plan_conversion(given.file, array_.get(), given.direction == Direction::Read, &transfer_.conversion);
}

// Refuses a destination whose elements share bytes.
Status check_destination(via_array *array) {
    UniqueArray dense;
    Plan plan;
    VIA_TRY(make_dense(array, array->dtype, nullptr, dense.out()));
    VIA_TRY(normalise_copy(array, dense.get(), &plan));
    return check_self_overlap(plan);
}

Status check_layout(const FileTransfer &transfer) {
    via_array *array = transfer.array;
    if (array->size == 0 || is_contiguous(array, VIA_ORDER_ROW_MAJOR)) {
        return VIA_OK;
    }
    if (array->is_packed()) {
        return fail(VIA_ERROR_UNSUPPORTED, "dtype is %s in a strided array; expected adjacent elements, or whole bytes",
                    DtypeName(array->dtype).text);
    }
    return transfer.direction == Direction::Read ? check_destination(array) : VIA_OK;
}

Status check_mode(via_file *file) {
    return file->may_write()
               ? VIA_OK
               : fail(VIA_ERROR_READ_ONLY, "mode is not VIA_MODE_READ_WRITE; expected that to write, in Python 'r+'");
}

// Returns the bytes from the first to the last of the transfer.
int64_t span_of(const FileTransfer &transfer) {
    return transfer.layout == nullptr ? transfer.array->nbytes() : byte_span(transfer.layout).high;
}

FileExtents find_places(const FileTransfer &transfer, const FileRange &range) {
    return transfer.layout != nullptr ? extents_of(transfer.layout, range.offset) : adjacent_extents(range);
}

Status check_transfer(const FileTransfer &transfer) {
    FileRange range{};
    if (transfer.direction == Direction::Write) {
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

Status read_range(const FileTransfer &transfer, via_task *task, Fence **out_fence) {
    via_file *file = transfer.file;
    const UniqueOpenFile open(file->hold_open());
    FileRange range{};
    VIA_TRY(find_range(file, open.get(), transfer.byte_offset, span_of(transfer), &range));
    return move_range({open.get(), find_places(transfer, range), transfer.array, Direction::Read, file->page_cache,
                       false, false, task, transfer.conversion.get()},
                      out_fence);
}

void note_size(via_file *file, int64_t end) {
    int64_t known = file->nbytes_known;
    while (known < end && !file->nbytes_known.compare_exchange_weak(known, end)) {
    }
}

// ext4 writes out a file that replaces another, except its reserved blocks: for longer, a power cut could lose both.
// Direct I/O avoids that danger.
bool may_reserve(via_file *file) {
    return !file->atomic_write || file->durable || file->page_cache == VIA_PAGE_CACHE_AVOID;
}

// Writes have no device part: they are complete on return.
Status write_range(const FileTransfer &transfer, OpenFile *open, const FileRange &range, via_task *task) {
    UniqueFence none;
    VIA_TRY(check_size_limit(open, range.offset + range.nbytes));
    VIA_TRY(move_range({open, find_places(transfer, range), transfer.array, Direction::Write, transfer.file->page_cache,
                        transfer.file->durable, may_reserve(transfer.file), task, transfer.conversion.get()},
                       none.out()));
    note_size(transfer.file, range.offset + range.nbytes);
    return VIA_OK;
}

Status write_replacement(const FileTransfer &transfer, const FileRange &range, via_task *task) {
    const std::lock_guard one_at_a_time(transfer.file->writing);
    AtomicReplace replacement(transfer.file);
    // Keeps the content between rows, and after packed elements.
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
    return transfer.file->is_created ? make_name_durable(transfer.file->target) : VIA_OK;
}

// Runs a transfer whose dependencies have completed. Stores the fence at which a device ends it, retained for the
// caller; nullptr if it is complete.
Status run_transfer(const FileTransfer &transfer, via_task *task, Fence **out_fence) {
    if (transfer.direction == Direction::Read) {
        return read_range(transfer, task, out_fence);
    }
    FileRange range{};
    VIA_TRY(find_range_to_write(transfer.file, transfer.byte_offset, span_of(transfer), &range));
    return transfer.file->atomic_write ? write_replacement(transfer, range, task)
                                       : write_in_place(transfer, range, task);
}

struct FileWork final : TaskWork {
    Status run(via_task *task, Fence **out_fence) override {
        return name_file(ordered.get().file, run_transfer(ordered.get(), task, out_fence));
    }

    OrderedTransfer ordered;
};

}  // namespace

Status await_transfer(via_array *array, via_stream *stream) {
    const bool orders = stream != nullptr || !is_plain(array);
    UniqueFence fence;
    if (orders) {
        VIA_TRY(dependency_of_stream(stream != nullptr ? stream : cuda::legacy_stream(), cuda::device_at_hand(array),
                                     fence.out()));
    }
    VIA_TRY(fence.get() != nullptr ? fence.get()->wait() : VIA_OK);
    return await_arrays(array, nullptr);
}

Status transfer_array(const FileTransfer &given, via_stream *stream) {
    OrderedTransfer ordered;
    VIA_TRY(ordered.order(given));
    VIA_TRY(check_transfer(ordered.get()));
    VIA_TRY(await_transfer(given.array, stream));
    UniqueFence fence;
    VIA_TRY(run_transfer(ordered.get(), nullptr, fence.out()));
    return fence.get() != nullptr ? fence.get()->wait() : VIA_OK;
}

Status submit_transfer(const FileTransfer &given, via_stream *stream, via_task **out_task) {
    UniqueWork<FileWork> work;
    VIA_TRY(make_object("a task", work.out()));
    OrderedTransfer &ordered = work.get()->ordered;
    VIA_TRY(ordered.order(given));
    VIA_TRY(check_transfer(ordered.get()));
    UniqueFence dependency;
    VIA_TRY(dependency_of_arrays(stream, cuda::device_at_hand(given.array), {given.array}, dependency.out()));
    const auto note = [&](Fence *end) {
        Storage *storage = given.array->storage;
        return given.direction == Direction::Read ? set_last_write(storage, end) : add_access(storage, end);
    };
    const int64_t nbytes = ordered.get().array->nbytes();
    return submit_work(work.release(), nbytes, dependency.get(), false, note, out_task);
}

Status save_array(const char *path, via_array *array, const via_file_options &given) {
    via_file_options options = given;
    options.atomic_write = 1;
    UniqueFile file;
    VIA_TRY(create_file(path, {array->dtype, array->ndim, array->shape()}, options, file.out()));
    return transfer_array({file.get(), array, Direction::Write, 0}, nullptr);
}

Status load_array(const char *path, via_memory *memory, const via_file_options &options, via_array **out_array) {
    UniqueFile file;
    UniqueArray array;
    VIA_TRY(open_file(path, options, file.out()));
    const int64_t nbytes = file.get()->nbytes_known;
    const FileContent bytes{VIA_UINT8, 1, &nbytes};
    const NpyHeader &header = file.get()->header;
    const FileContent content = file.get()->is_npy ? FileContent{header.dtype, header.ndim, header.shape} : bytes;
    VIA_TRY(make_empty(memory, content.dtype, content.ndim, content.shape, 0, array.out()));
    VIA_TRY(transfer_array({file.get(), array.get(), Direction::Read, 0}, nullptr));
    *out_array = array.release();
    return VIA_OK;
}

}  // namespace via
