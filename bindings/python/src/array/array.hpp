// The type viaduct.Array: one handle of the library.
#pragma once

#include <initializer_list>
#include "support/errors.hpp"
#include "support/python.hpp"

namespace viapy {

// The way by which Python got the memory: the library allocated HostMemory and OtherMemory. A view has the origin of
// its array.
enum class Origin : int32_t {
    Unknown,
    Wrapped,
    HostMemory,
    OtherMemory,
    DLPack,
    Buffer,
    ArrayInterface,
    Arrow,
    Process
};

struct ArrayObject {
    PyObject_HEAD via_array *array;
    PyObject *weak_references;
    Origin origin;
};

extern PyTypeObject *g_array_type;

inline bool is_array(PyObject *object) { return Py_TYPE(object) == g_array_type; }
inline ArrayObject *as_array_object(PyObject *self) { return reinterpret_cast<ArrayObject *>(self); }
inline via_array *handle_of(PyObject *self) { return as_array_object(self)->array; }
inline Origin origin_of(PyObject *self) { return as_array_object(self)->origin; }

// Returns the origin of what is allocated from a memory; NULL means plain host memory.
inline Origin origin_in(via_memory *memory) { return memory == nullptr ? Origin::HostMemory : Origin::OtherMemory; }

// Returns an Array that owns the handle. Releases the handle on failure.
PyObject *new_array(via_array *array, Origin origin);

// Returns an Array if the status is VIA_OK, otherwise raises the status's exception.
inline PyObject *new_array_or_raise(via_status status, via_array *array, Origin origin) {
    return status == VIA_OK ? new_array(array, origin) : raise_status(status);
}

// Returns an Array on the handle that function(arguments..., &array) stores, or raises the exception of its status.
template <class... Parameters, class... Arguments>
PyObject *array_from(Origin origin, via_status (*function)(Parameters...), Arguments... arguments) {
    via_array *array = nullptr;
    const via_status status = function(arguments..., &array);
    return new_array_or_raise(status, array, origin);
}

// Returns a view of an Array, which has its origin, by a function of the library.
template <class... Parameters, class... Arguments>
PyObject *view_of(PyObject *self, via_status (*function)(Parameters...), Arguments... arguments) {
    return array_from(origin_of(self), function, handle_of(self), arguments...);
}

// Parts of the type that rooms above this one define.
struct ArrayTypeParts {
    std::initializer_list<const PyMethodDef *> methods;
    std::initializer_list<const PyGetSetDef *> getters;
    std::initializer_list<PyType_Slot> slots;
};

// Makes the type of this room's parts and the given ones, and adds it to the module.
bool add_array_type(PyObject *module, const ArrayTypeParts &parts);

}  // namespace viapy
