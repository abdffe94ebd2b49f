// The type viaduct.File.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern const char kFileDoc[];
extern PyType_Slot kFileSlots[];

}  // namespace viapy
