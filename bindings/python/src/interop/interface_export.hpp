// Array.__array_interface__ and __cuda_array_interface__.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyGetSetDef kInterfaceGetters[];

// Makes the keys of the descriptions.
bool init_interfaces();

}  // namespace viapy
