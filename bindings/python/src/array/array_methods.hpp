// Methods of an Array that read or write elements.
#pragma once

#include "array/array.hpp"

namespace viapy {

extern PyMethodDef kDataMethods[];

}  // namespace viapy
