// Array.to(): objects of another library's type.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyMethodDef kConvertMethods[];

// Returns the array as an object of another library's type, ready on the stream that the library works on. With
// is_ready, the content counts as ready already. `where` is "function: argument".
PyObject *convert(const char *where, via_array *array, PyObject *kind, bool is_ready);

}  // namespace viapy
