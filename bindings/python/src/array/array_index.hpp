// Indexing of arrays by keys in square brackets.
#pragma once

#include "array/array.hpp"

namespace viapy {

PyObject *array_subscript(PyObject *self, PyObject *key);
PyObject *array_item(PyObject *self, Py_ssize_t index);

// Returns the view that a key selects, owned by the caller. NULL with an exception set on failure.
via_array *select_by_key(via_array *array, PyObject *key);

}  // namespace viapy
