// Module functions that make new arrays.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kCreationFunctions[];

}  // namespace viapy
