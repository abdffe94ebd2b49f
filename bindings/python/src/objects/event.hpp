// The type viaduct.Event.
#pragma once

#include "support/python.hpp"

namespace viapy {

extern const char kEventDoc[];
extern PyType_Slot kEventSlots[];

// Returns an Event for another library's event, or for the number of a CUevent. `argument` is always 'event'.
PyObject *wrap_foreign_event(const char *function, PyObject *value, int32_t device_id, const char *expected);

}  // namespace viapy
