// From a via_status to the Python exception of its kind.
#pragma once

#include "python.hpp"

namespace viapy {

// Makes the exception classes and adds them to the module.
bool add_exceptions(PyObject *module);

// All of these set an exception and return NULL. The first two tell what via_last_error() tells, and so must be
// called before any other function of the library.
PyObject *raise_status(int32_t status);

// The same where a protocol demands BufferError for whatever an exchange refuses.
PyObject *raise_exchange(int32_t status);

// For what this layer finds out itself: the status's kind with a text of PyUnicode_FromFormat.
PyObject *raise(int32_t status, const char *format, ...);

// "function: argument 'x': found an instance of T, expected ..."; the kind is VIA_ERROR_DTYPE's, a TypeError.
PyObject *raise_type(const char *function, const char *argument, PyObject *found, const char *expected);

// The same in place of a TypeError that is set, since that names neither; any other exception stays as it is.
PyObject *reword_type(const char *function, const char *argument, PyObject *found, const char *expected);

// "function: argument 'x': " and the text of the exception that is set, whose place this takes.
PyObject *retell(int32_t status, const char *function, const char *argument);

// A BufferError with a text of PyUnicode_FromFormat, whatever the status.
PyObject *raise_buffer(int32_t status, const char *format, ...);

// repr(object) for a message, shortened; its type where repr() fails, as for integers of more digits than Python
// prints. Clears whatever exception is set.
Ref shown(PyObject *object);

// The end of a call that makes nothing: None, or the status's exception.
inline PyObject *none_or_raise(int32_t status) { return status == VIA_OK ? none() : raise_status(status); }

}  // namespace viapy
