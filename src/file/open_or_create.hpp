// Opens and creates files.
#pragma once

#include "file/file.hpp"

namespace via {

// `options` is complete (see read_struct). Errors: VIA_ERROR_INVALID_ARGUMENT, VIA_ERROR_IO, VIA_ERROR_UNSUPPORTED,
// VIA_ERROR_OUT_OF_MEMORY; of a .npy header VIA_ERROR_FORMAT, _VERSION, _DTYPE, _SHAPE, _OVERFLOW.
VIA_NODISCARD Status open_file(const char *path, const via_file_options &options, via_file **out_file);

VIA_NODISCARD Status create_file(const char *path, const FileContent &content, const via_file_options &options,
                                 via_file **out_file);

}  // namespace via
