// Arrays that other processes of the host use in place.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kIpcMethods[];

PyObject *import_ipc(PyObject *, PyObject *object);

}  // namespace viapy
