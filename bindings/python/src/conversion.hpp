// Module functions that copy to another dtype.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kConvertFunctions[];

}  // namespace viapy
