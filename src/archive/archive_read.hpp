// Reads all tensors of an archive into one buffer of memory on any device.
#pragma once

#include "archive/archive.hpp"
#include "core/array/memory.hpp"

namespace via {

// Implements via_archive_load: allocates the buffer, and reads it.
VIA_NODISCARD Status load_archive(via_archive *archive, via_memory *memory, via_stream *stream, via_array **out_buffer);

// Implements via_archive_read and via_archive_read_submit.
VIA_NODISCARD Status read_archive(via_archive *archive, via_array *buffer, via_stream *stream);
VIA_NODISCARD Status submit_archive(via_archive *archive, via_array *buffer, via_stream *stream, via_task **out_task);

}  // namespace via
