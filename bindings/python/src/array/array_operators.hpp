// Operators of an Array.
#pragma once

#include "array/array.hpp"

namespace viapy {

extern PyType_Slot kOperatorSlots[];

}  // namespace viapy
