// Reads and writes arrays on any device.
#pragma once

#include "core/array/memory.hpp"
#include "file/file.hpp"
#include "file/file_io.hpp"

#include <memory>

namespace via {

struct TransferConversion;

// A transfer. Holds no references.
struct FileTransfer {
    via_file *file;
    via_array *array;
    Direction direction;
    int64_t byte_offset;
    // Set by file_transfer.cpp.
    via_array *layout = nullptr;
    std::shared_ptr<TransferConversion> conversion = nullptr;  // nullptr: elements stay as they are
};

// Implements via_file_read and via_file_write.
VIA_NODISCARD Status transfer_array(const FileTransfer &transfer, via_stream *stream);

// Implements via_file_read_submit and via_file_write_submit.
VIA_NODISCARD Status submit_transfer(const FileTransfer &transfer, via_stream *stream, via_task **out_task);

// Implement via_save and via_load. `options` is complete (see read_struct).
VIA_NODISCARD Status save_array(const char *path, via_array *array, const via_file_options &options);
VIA_NODISCARD Status load_array(const char *path, via_memory *memory, const via_file_options &options,
                                via_array **out_array);

// Waits on the host for the work that a transfer of `array` on `stream` depends on.
VIA_NODISCARD Status await_transfer(via_array *array, via_stream *stream);

}  // namespace via
