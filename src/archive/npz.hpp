// The header of a .npz file: a ZIP file of stored .npy files, checked strictly.
#pragma once

#include <string_view>

#include "archive/tensor_list.hpp"

namespace via {

bool is_npz(std::string_view start);

// Reads the tensors, whose names are those of the entries without .npy. Those of elements without a dtype have a
// refusal. Errors: others of .npy headers; VIA_ERROR_FORMAT, VIA_ERROR_IO; VIA_ERROR_UNSUPPORTED for a part of several
// files, compressed entries and encrypted ones.
VIA_NODISCARD Status read_npz(OpenFile *open, TensorList *out_list);

}  // namespace via
