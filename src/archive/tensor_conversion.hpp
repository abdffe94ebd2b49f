// Tensors that are converted as they are read: to another dtype, and to this machine's byte order.
#pragma once

#include "archive/archive.hpp"
#include "file/file_conversion.hpp"

namespace via {

// Reads a tensor as another dtype from now on; number -1 means all tensors of floats. Errors: those of via_convert;
// VIA_ERROR_INDEX, VIA_ERROR_UNSUPPORTED, VIA_ERROR_OVERFLOW.
VIA_NODISCARD Status convert_tensor(via_archive *archive, int64_t number, int32_t dtype,
                                    const via_convert_options &options);

// Plans what is done to the elements of a tensor that swaps, or has another dtype in a buffer.
VIA_NODISCARD Status plan_elements(ArchiveTensor *tensor);

// Converts adjacent elements.
void convert_adjacent(const TransferConversion &conversion, void *dst, const void *src, int64_t count);

// Returns whether a device converts the elements: those that become no narrower cross a link as they are.
bool suits_device(const ArchiveTensor &tensor);

}  // namespace via
