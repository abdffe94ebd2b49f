// Array.__dlpack_c_exchange_api__, DLPack's table of C functions.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Sets __dlpack_c_exchange_api__ as an attribute of the type.
bool add_exchange_table(PyObject *type);

}  // namespace viapy
