// The type viaduct.Task.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern const char kTaskDoc[];
extern PyType_Slot kTaskSlots[];

// Returns a Task if the status is VIA_OK, otherwise raises the status's exception.
PyObject *new_task_or_raise(via_status status, via_task *task);

}  // namespace viapy
