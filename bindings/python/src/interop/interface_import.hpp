// __array_interface__ and __cuda_array_interface__ of other libraries' arrays.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

Outcome try_cuda_array_interface(const char *function, PyObject *object, PyObject **out_array);
Outcome try_array_interface(const char *function, PyObject *object, PyObject **out_array);

}  // namespace viapy
