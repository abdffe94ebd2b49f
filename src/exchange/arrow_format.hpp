// Arrow's format strings and extension metadata: the little of them that numeric tensors need.
#pragma once

#include <cstdint>

#include "core/array.hpp"

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

// The shape that fixed_shape_tensor metadata tells; the number of its extents, or -1 if it tells none.
int32_t tensor_shape_of(const char *metadata, int64_t *shape);

}  // namespace via
