// The type viaduct.Task.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern const char kTaskDoc[];
extern PyType_Slot kTaskSlots[];

}  // namespace viapy
