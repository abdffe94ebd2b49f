// Reads and writes arrays on any device.
#pragma once

#include "core/async/fence.hpp"
#include "file/file.hpp"
#include "file/io_chunks.hpp"

namespace via {

// Implement via_file_read and via_file_write.
VIA_NODISCARD Status read_array(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream);
VIA_NODISCARD Status write_array(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream);

// Implement via_file_read_submit and via_file_write_submit.
VIA_NODISCARD Status submit_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream,
                                 via_task **out_task);

VIA_NODISCARD Status submit_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream,
                                  via_task **out_task);

// A transfer. Holds no references.
struct FileTransfer {
    via_file *file;
    via_array *array;  // with the axes in the order of the file: the last one moves fastest
    Direction direction;
    int64_t byte_offset;
    via_array *layout = nullptr;  // of a window, with axes as the array's; byte_offset is that of its first byte
};

// Turns a transfer of a file or a window into one of the whole file, with axes in the order of the file. Holds the
// arrays that it makes.
class OrderedTransfer {
public:
    VIA_NODISCARD Status order(const FileTransfer &given);
    const FileTransfer &get() const { return transfer_; }

private:
    FileTransfer transfer_{};
    UniqueArray array_;
    UniqueArray layout_;
};

VIA_NODISCARD Status check_transfer(const FileTransfer &transfer);

// Runs a transfer whose dependencies have completed. Stores the fence at which a device ends it, retained for the
// caller; nullptr if it is complete.
VIA_NODISCARD Status run_transfer(const FileTransfer &transfer, via_task *task, Fence **out_fence);

// A transfer between an array and extents of an open file.
struct RangeTransfer {
    OpenFile *open;
    FileExtents extents;
    via_array *array;
    Direction direction;
    int32_t page_cache;
    bool durable;
    bool reserves;  // reserve disk blocks before a write
    via_task *task;
};

}  // namespace via
