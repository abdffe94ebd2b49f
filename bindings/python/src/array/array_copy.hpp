// Copies and fills of arrays, without the GIL where that pays.
#pragma once

#include "array/array.hpp"
#include "support/arguments.hpp"

namespace viapy {

// Returns whether work on the arrays may take long, or may wait for something that needs the GIL.
bool worth_unlocking(via_array *array);
bool worth_unlocking(via_array *dst, via_array *src);

// Copies on the stream, or until done if that is NULL.
via_status copy_elements(via_array *dst, via_array *src, via_stream *stream);

// Sets every element to a number, or to the bytes of one element. False with an exception set on failure.
bool fill_array(const char *function, via_array *array, PyObject *value, via_stream *stream);

// Returns a new row-major array with the same elements on a device. Waits for the copy.
PyObject *copy_to(const char *function, via_array *source, const Device &device);

// Returns a new row-major array of a dtype on a device, not filled.
PyObject *empty_as(const char *function, via_array *source, int32_t dtype, const Device &device);

}  // namespace viapy
