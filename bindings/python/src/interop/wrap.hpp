// wrap(): arrays on addresses.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kWrapFunctions[];

}  // namespace viapy
