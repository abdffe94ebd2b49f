// Attributes of an Array, and its repr().
#pragma once

#include "array/array.hpp"

namespace viapy {

extern PyGetSetDef kInspectGetters[];

PyObject *array_repr(PyObject *self);

}  // namespace viapy
