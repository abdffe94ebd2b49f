// Arrow's format strings and extension metadata: the little of them that numeric tensors need.
#pragma once

#include <cstdint>

#include "core/array/array.hpp"

namespace via {

inline constexpr int32_t kArrowFormatCapacity = 24;
inline constexpr char kTensorExtension[] = "arrow.fixed_shape_tensor";

// The format string of a dtype into format[kArrowFormatCapacity]; false if Arrow has none.
bool arrow_format(int32_t dtype, char *format);

// The dtype of a primitive or fixed-size binary format string; 0 for any other.
int32_t dtype_of_arrow_format(const char *format);

// The list size of a "+w:N" format string, which Arrow limits to 32 bits; -1 for any other.
int64_t arrow_list_size(const char *format);

// Room for the metadata of a tensor of any shape there is.
inline constexpr int32_t kTensorMetadataCapacity = 2048;

// Encodes the extension metadata of a column of tensors of `shape` into metadata[kTensorMetadataCapacity].
void encode_tensor_metadata(int32_t ndim, const int64_t *shape, char *metadata);

// The axes of the tensors in a column: those of the memory, which is row-major, and which of them each axis of the
// tensor is.
struct TensorAxes {
    int32_t ndim;  // less than VIA_MAX_NDIM
    int64_t shape[VIA_MAX_NDIM];
    int32_t permutation[VIA_MAX_NDIM];
};

// What fixed_shape_tensor metadata says; *out_is_tensor is false for any other, and for none. Errors:
// VIA_ERROR_EXCHANGE for metadata that is not what the extension type has.
VIA_NODISCARD Status read_tensor_metadata(const char *metadata, bool *out_is_tensor, TensorAxes *out_axes);

}  // namespace via
