// Methods of an Array that return views.
#pragma once

#include "array/array.hpp"

namespace viapy {

extern PyMethodDef kViewMethods[];

}  // namespace viapy
