// asarray(): imports an array by whichever protocol works first.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

// Returns an Array on the memory of any object that exports it. NULL with an exception set on failure.
PyObject *as_array(const char *function, PyObject *object, const char *argument = "x");

extern PyMethodDef kAsarrayFunctions[];

}  // namespace viapy
