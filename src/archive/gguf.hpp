// The header of a GGUF file, versions 2 and 3, checked strictly.
//
// Extents are stored innermost first; a shape has them the other way around. Quantised blocks are bytes: the last
// extent of such a tensor counts the bytes of its blocks.
#pragma once

#include <string_view>

#include "archive/tensor_list.hpp"

namespace via {

bool is_gguf(std::string_view start);

// Reads the tensors, and the metadata as texts: numbers in decimal, arrays as JSON. Errors: VIA_ERROR_FORMAT,
// VIA_ERROR_VERSION, VIA_ERROR_UNSUPPORTED for big-endian files, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW,
// VIA_ERROR_IO.
VIA_NODISCARD Status read_gguf(OpenFile *open, TensorList *out_list);

}  // namespace via
