// Array.__dlpack__ and __dlpack_device__.
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

extern PyMethodDef kDlpackMethods[];

// Returns whether the stride of some axis is negative and used.
bool has_negative_stride(via_array *array);

}  // namespace viapy
