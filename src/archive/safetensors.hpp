// The header of a safetensors file, checked strictly.
#pragma once

#include <string_view>
#include <vector>

#include "archive/tensor_list.hpp"

namespace via {

// Reads the tensors and the metadata of a file. Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE, VIA_ERROR_SHAPE,
// VIA_ERROR_OVERFLOW, VIA_ERROR_IO; a text names the tensor.
VIA_NODISCARD Status read_safetensors(OpenFile *open, TensorList *out_list);

// Parses a JSON object of texts, as __metadata__ is one. Errors: VIA_ERROR_FORMAT.
VIA_NODISCARD Status parse_texts(std::string_view text, std::vector<ArchiveText> *out_texts);

// Writes such an object.
std::string write_texts(const std::vector<ArchiveText> &texts);

// Returns the format's name of a dtype; empty if it has none.
std::string_view safetensors_dtype(int32_t dtype);

// Writes the length and the header of a file. Offsets of the tensors count from its end, which is a multiple of
// kAlignment.
std::string write_safetensors(const std::vector<ArchiveTensor> &tensors, const std::vector<ArchiveText> &metadata);

}  // namespace via
