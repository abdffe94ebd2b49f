// Module functions that read or write elements, or make room for them.
#pragma once

#include "arguments.hpp"
#include "python.hpp"

namespace viapy {

PyObject *copy(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copyto(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_submit(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *fill(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *copy_explain(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

// creation.cpp
PyObject *empty(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *zeros(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *ones(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *full(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *empty_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *zeros_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *ones_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *full_like(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

// Sets every element to a number, or to the bytes of one. False with an exception set if that fails.
bool fill_array(const char *function, via_array *array, PyObject *value, via_stream *stream);

// A new row-major array with the same elements on a device. Waits for the copy.
PyObject *copy_to(const char *function, via_array *source, const Device &device);

}  // namespace viapy
