// Reading and writing arrays as tasks.
#pragma once

#include "core/async/fence.hpp"
#include "file/file.hpp"

namespace via {

VIA_NODISCARD Status submit_read(via_file *file, int64_t byte_offset, via_array *dst, via_stream *stream,
                                 via_task **out_task);

VIA_NODISCARD Status submit_write(via_file *file, int64_t byte_offset, via_array *src, via_stream *stream,
                                  via_task **out_task);

}  // namespace via
