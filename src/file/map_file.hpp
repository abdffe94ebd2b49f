// Arrays on the pages of a file.
#pragma once

#include "file/file.hpp"

namespace via {

// An array on the file's pages. dtype 0 and ndim 0: what the header, or the window, says.
VIA_NODISCARD Status map_file(via_file *file, int64_t byte_offset, const FileContent &content, via_array **out_array);

}  // namespace via
