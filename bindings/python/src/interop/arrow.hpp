// Arrow's PyCapsule protocol, exported and imported.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyMethodDef kArrowMethods[];    // of the type Array
extern PyMethodDef kArrowFunctions[];  // of the module

Outcome try_arrow(const char *function, PyObject *object, PyObject **out_array);

}  // namespace viapy
