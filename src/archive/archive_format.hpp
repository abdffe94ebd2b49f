// The formats of archives: which one a file has, and what its header names.
#pragma once

#include "archive/tensor_list.hpp"

namespace via {

// Reads the header of a file of any format, told by its first bytes. Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE,
// VIA_ERROR_SHAPE, VIA_ERROR_OVERFLOW, VIA_ERROR_IO, VIA_ERROR_VERSION, VIA_ERROR_UNSUPPORTED; a text names the tensor.
VIA_NODISCARD Status read_tensors(OpenFile *open, TensorList *out_list);

}  // namespace via
