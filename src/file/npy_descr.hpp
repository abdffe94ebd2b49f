// The element type in a .npy header: a typestr, or a list of the fields of a record.
#pragma once

#include "file/python_literal.hpp"

namespace via {

// Records come out as so many bytes, whatever their fields; these are checked all the same.
// Errors: VIA_ERROR_FORMAT, VIA_ERROR_DTYPE.
VIA_NODISCARD Status read_descr(PythonLiteralScanner *scanner, int32_t *out_dtype);

// A tuple of extents: "()", "(3,)", "(3, 4)". Errors: VIA_ERROR_FORMAT, VIA_ERROR_SHAPE.
VIA_NODISCARD Status read_shape(PythonLiteralScanner *scanner, int32_t most, int32_t *out_ndim, int64_t *out_shape);

}  // namespace via
