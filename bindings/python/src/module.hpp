// The hand-written layer, as the generated one meets it.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Adds types, exceptions and functions to the module. -1 with an exception set on failure.
int init_module(PyObject *module);

}  // namespace viapy
