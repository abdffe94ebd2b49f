// The bound that wrap() is given on the bytes that an array may reach.
#pragma once

#include "arguments.hpp"

namespace viapy {

// Whether every element lies in the `nbytes` bytes from the address on; false with an exception set. Strides are in
// bytes, NULL for a row-major array. True without a bound, and for extents and sums that the library refuses itself.
bool stays_within(PyObject *nbytes, const Extents &shape, const Extents *strides, int32_t dtype);

}  // namespace viapy
