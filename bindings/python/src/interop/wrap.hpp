// wrap(): arrays on addresses.
#pragma once

#include "support/python.hpp"

namespace viapy {

PyObject *wrap(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

}  // namespace viapy
