// Module functions that copy between arrays of any library, and assignment to an Array.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kCopyFunctions[];

// array[key] = value
int array_assign(PyObject *self, PyObject *key, PyObject *value);

}  // namespace viapy
