// Module functions about devices and addresses.
#pragma once

#include "support/python.hpp"

namespace viapy {

PyObject *device_count(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *device_info(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *pointer_info(PyObject *, PyObject *pointer);

}  // namespace viapy
