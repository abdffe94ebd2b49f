// Reading and writing arrays, wherever they are.
#pragma once

#include "core/async/fence.hpp"
#include "file/file.hpp"
#include "file/io_chunks.hpp"

namespace via {

// As via_file_read and via_file_write, and as tasks. `stream` nullptr: as a copy that is waited for.
VIA_NODISCARD Status read_array(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream);
VIA_NODISCARD Status write_array(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream);

// ---- The parts that these are made of.

// One transfer that has been checked. It holds nothing.
struct FileTransfer {
    via_file *file;
    via_array *array;  // its axes as the file has them: the last one moves fastest
    Towards towards;
    int64_t byte_offset;
    via_array *layout = nullptr;  // of a window, ordered as the array is; byte_offset is that of its first byte
};

// A transfer as it is asked for, of a file or a window, and as it is done. Both hold what they name.
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

// Does it, with everything that it waits for reached. A fence in *out_fence (retained) says where a device ends it;
// none, that it is done.
VIA_NODISCARD Status run_transfer(const FileTransfer &transfer, via_task *task, Fence **out_fence);

// The bytes themselves, between the array and places of one open file.
struct RangeTransfer {
    OpenFile *open;
    FileExtents extents;
    via_array *array;
    Towards towards;
    int32_t page_cache;
    bool durable;
    bool reserves;  // blocks of the file, before many are written
    via_task *task;
};

}  // namespace via
