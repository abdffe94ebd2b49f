// The type viaduct.Array: one handle of the library, with the methods of the files named after them.
#pragma once

#include "arguments.hpp"
#include "errors.hpp"
#include "python.hpp"

namespace viapy {

// How the memory came to be known here; a view says what its array says.
enum class Origin : int32_t { Unknown, Wrapped, Allocated, DLPack, Buffer, ArrayInterface, Arrow, Process };

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

// An Array that takes the handle over; without memory for one, the handle is released.
PyObject *new_array(via_array *array, Origin origin);

// The end of a call that makes an array: an Array, or the status's exception.
inline PyObject *new_array_or_raise(via_status status, via_array *array, Origin origin) {
    return status == VIA_OK ? new_array(array, origin) : raise_status(status);
}

// A handle that is released when the scope ends.
class Handle {
public:
    Handle() = default;
    explicit Handle(via_array *owned) : array_(owned) {}
    ~Handle() { via_array_release(array_); }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    via_array *get() const { return array_; }
    via_array *give() { return std::exchange(array_, nullptr); }
    void reset(via_array *owned) { via_array_release(std::exchange(array_, owned)); }
    explicit operator bool() const { return array_ != nullptr; }

private:
    via_array *array_ = nullptr;
};

bool add_array_type(PyObject *module);

// array_index.cpp
PyObject *array_subscript(PyObject *self, PyObject *key);
PyObject *array_item(PyObject *self, Py_ssize_t index);
// The view that a key names, to be released; NULL with an exception set.
via_array *select_by_key(via_array *array, PyObject *key);

// array_inspect.cpp, array_operators.cpp, array_views.cpp, array_data.cpp, and the files named after a protocol
PyObject *array_repr(PyObject *self);
int array_assign(PyObject *self, PyObject *key, PyObject *value);
int get_buffer(PyObject *self, Py_buffer *view, int flags);
void release_buffer(PyObject *self, Py_buffer *view);
extern PyType_Slot kOperatorSlots[];
extern PyGetSetDef kInspectGetters[];
extern PyGetSetDef kInterfaceGetters[];
extern PyMethodDef kViewMethods[];
extern PyMethodDef kDataMethods[];
extern PyMethodDef kBufferMethods[];
extern PyMethodDef kDlpackMethods[];
extern PyMethodDef kGiveMethods[];
extern PyMethodDef kArrowMethods[];
extern PyMethodDef kShareMethods[];

}  // namespace viapy
