// Arrow's format strings and extension metadata, as far as numeric tensors need them.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

inline constexpr int32_t kArrowFormatCapacity = 24;
inline constexpr char kTensorExtension[] = "arrow.fixed_shape_tensor";

// Writes the format string of a dtype to format[kArrowFormatCapacity]; false if Arrow has none.
bool arrow_format(int32_t dtype, char *format);

// Returns the dtype of a primitive or fixed-size binary format string; 0 for any other.
int32_t dtype_of_arrow_format(const char *format);

// Returns the list size of a "+w:N" format string, at most 2^31 - 1; -1 for any other.
int64_t arrow_list_size(const char *format);

// Room for the metadata of a tensor of any shape.
inline constexpr int32_t kTensorMetadataCapacity = 2048;

// Encodes the extension metadata of a column of tensors of `shape` into metadata[kTensorMetadataCapacity].
void encode_tensor_metadata(int32_t ndim, const int64_t *shape, char *metadata);

// Axes of the tensors in a column: the row-major axes of the memory, and the permutation that gives the tensor's.
struct TensorAxes {
    int32_t ndim;  // less than VIA_MAX_NDIM
    int64_t shape[VIA_MAX_NDIM];
    int32_t permutation[VIA_MAX_NDIM];
};

// Reads fixed_shape_tensor metadata; *out_is_tensor is false for any other metadata, and for none. Errors:
// VIA_ERROR_EXCHANGE for metadata that breaks the rules of the extension type.
VIA_NODISCARD Status read_tensor_metadata(const char *metadata, bool *out_is_tensor, TensorAxes *out_axes);

}  // namespace via
