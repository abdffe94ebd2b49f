// Module functions that make new arrays.
#pragma once

#include "support/python.hpp"

namespace viapy {

PyObject *empty(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *zeros(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *ones(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *full(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *empty_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *zeros_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *ones_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *full_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

}  // namespace viapy
