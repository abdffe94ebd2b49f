// DLPack's part of asarray(), and from_dlpack().
#pragma once

#include "interop/protocol.hpp"

namespace viapy {

Outcome try_exchange_api(const char *function, PyObject *object, PyObject **out_array);
Outcome try_dlpack(const char *function, PyObject *object, const ImportOptions &wanted, PyObject **out_array);

extern PyMethodDef kDlpackFunctions[];

}  // namespace viapy
