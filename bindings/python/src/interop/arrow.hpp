// Arrow's PyCapsule protocol, exported and imported.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyMethodDef kArrowMethods[];

Outcome try_arrow(const char *function, PyObject *object, PyObject **out_array);

PyObject *from_arrow(PyObject *, PyObject *object);

}  // namespace viapy
