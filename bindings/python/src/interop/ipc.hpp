// Arrays that other processes of the host use in place.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kIpcMethods[];    // of the type Array
extern PyMethodDef kIpcFunctions[];  // of the module

}  // namespace viapy
