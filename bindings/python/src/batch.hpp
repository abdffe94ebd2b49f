// The type viaduct.Batch.
#pragma once

#include "support/python.hpp"

namespace viapy {

bool add_batch_type(PyObject *module);

}  // namespace viapy
