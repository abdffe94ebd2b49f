// The buffer protocol (PEP 3118), exported and imported.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyMethodDef kBufferMethods[];

int get_buffer(PyObject *self, Py_buffer *view, int flags);
void release_buffer(PyObject *self, Py_buffer *view);

Outcome try_buffer(const char *function, PyObject *object, PyObject **out_array);

}  // namespace viapy
