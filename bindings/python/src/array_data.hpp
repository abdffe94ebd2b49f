// Module functions that read or write elements, or make room for them.
#pragma once

#include "python.hpp"

namespace viapy {

PyObject *copy(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_submit(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *fill(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_explain(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *empty(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

}  // namespace viapy
