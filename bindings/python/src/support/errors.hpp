// From a via_status to the Python exception of its kind.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Makes the exception classes and adds them to the module.
bool add_exceptions(PyObject *module);

// Set an exception and return NULL. The first two use via_last_error(): call no other function of the
// library before.
PyObject *raise_status(int32_t status);

// The same as BufferError, which exchange protocols require for refusals.
PyObject *raise_exchange(int32_t status);

// Raises the exception of a status with a text of PyUnicode_FromFormat.
PyObject *raise(int32_t status, const char *format, ...);

// Raises DTypeError, a TypeError: "function: argument is of type T; expected ...".
PyObject *raise_type(const char *function, const char *argument, PyObject *found, const char *expected);

// Replaces a TypeError, which names neither function nor argument. Keeps any other exception.
PyObject *reword_type(const char *function, const char *argument, PyObject *found, const char *expected);

// Replaces the exception that is set by "function: argument predicate text", where text is that exception's.
PyObject *raise_with_reason(int32_t status, const char *function, const char *argument, const char *predicate);

// Raises BufferError with a text of PyUnicode_FromFormat, whatever the status.
PyObject *raise_buffer(int32_t status, const char *format, ...);

// Returns repr(object) for a message, shortened; its type if repr() fails, as for very long integers. Clears the
// exception that is set.
Ref shown(PyObject *object);

// Returns whether the status is VIA_OK; otherwise raises the status's exception.
inline bool ok_or_raise(int32_t status) { return status == VIA_OK || (raise_status(status), false); }

// Returns None if the status is VIA_OK, otherwise raises the status's exception.
inline PyObject *none_or_raise(int32_t status) { return status == VIA_OK ? none() : raise_status(status); }

}  // namespace viapy
