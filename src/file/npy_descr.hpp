// The element type in a .npy header: a typestr, or the list of a record's fields.
#pragma once

#include "file/python_literal.hpp"

namespace via {

// Reads a record as its number of bytes, after checking every field.
// Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE.
VIA_NODISCARD Status read_descr(PythonLiteralScanner *scanner, int32_t *out_dtype);

// Reads a tuple of extents: "()", "(3,)", "(3, 4)". Errors: VIA_ERROR_FORMAT, VIA_ERROR_SHAPE.
VIA_NODISCARD Status read_shape(PythonLiteralScanner *scanner, int32_t most, int32_t *out_ndim, int64_t *out_shape);

}  // namespace via
