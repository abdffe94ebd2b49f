// Module functions about devices and addresses.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern PyMethodDef kDeviceFunctions[];

}  // namespace viapy
