// One array to a file and back, in one call each.
#pragma once

#include "core/array/memory.hpp"
#include "file/file.hpp"

namespace via {

// Implement via_save and via_load. `options` is complete (see read_struct).
VIA_NODISCARD Status save_array(const char *path, via_array *array, const via_file_options &options);
VIA_NODISCARD Status load_array(const char *path, via_memory *memory, const via_file_options &options,
                                via_array **out_array);

}  // namespace via
