// Module functions that copy between arrays of any library, and assignment to an Array.
#pragma once

#include "support/python.hpp"

namespace viapy {

PyObject *copy(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copyto(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_submit(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *fill(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_explain(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

// array[key] = value
int array_assign(PyObject *self, PyObject *key, PyObject *value);

}  // namespace viapy
