// The type viaduct.Stream.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern const char kStreamDoc[];
extern PyType_Slot kStreamSlots[];

// Sets the shared streams as attributes of the type: legacy, per_thread, no_sync.
bool add_shared_streams(PyObject *type);

}  // namespace viapy
