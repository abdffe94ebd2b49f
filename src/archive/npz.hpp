// The header of a .npz file: a ZIP file of stored .npy files, checked strictly.
#pragma once

#include <string_view>

#include "archive/tensor_list.hpp"

namespace via {

bool is_npz(std::string_view start);

// Reads the tensors, whose names are those of the entries without .npy. Errors: as list_zip and for .npy headers;
// VIA_ERROR_UNSUPPORTED for compressed entries and encrypted ones.
VIA_NODISCARD Status read_npz(OpenFile *open, TensorList *out_list);

}  // namespace via
