#include "array/array.hpp"

#include <structmember.h>
#include <cstddef>
#include <vector>

#include "array/array_index.hpp"
#include "array/array_inspect.hpp"
#include "array/array_methods.hpp"
#include "array/array_operators.hpp"
#include "array/array_views.hpp"
#include "support/gil.hpp"

namespace viapy {

PyTypeObject *g_array_type = nullptr;

namespace {

// Frees memory of a device without the GIL: callbacks that the device's work waits for may need it.
void release(via_array *array, Origin origin) {
    const bool may_wait = origin == Origin::OtherMemory || origin == Origin::Process;
    keeping_error([=] {
        without_gil(may_wait && via_array_release_waits(array) != 0, [array] {
            via_array_release(array);
            return VIA_OK;
        });
    });
}

void dealloc(PyObject *self) {
    ArrayObject *object = as_array_object(self);
    if (object->weak_references != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    PyTypeObject *type = Py_TYPE(self);
    release(object->array, object->origin);
    PyObject_Free(self);
    Py_DECREF(type);
}

Py_ssize_t length(PyObject *self) {
    via_array *array = handle_of(self);
    if (via_array_ndim(array) == 0) {
        PyErr_SetString(PyExc_TypeError, "len: the array has no dimensions; expected at least one");
        return -1;
    }
    return via_array_shape(array)[0];
}

// Refuses `if array`, which would otherwise mean its length, and for a number something else than in NumPy.
int truth(PyObject *) {
    PyErr_SetString(PyExc_TypeError,
                    "bool: the truth value of an Array is ambiguous; expected its size, or item() for its one element");
    return -1;
}

// Implements float(array) and int(array) for the only element.
PyObject *converted(PyObject *self, PyObject *(*convert)(PyObject *)) {
    Ref element(PyObject_CallMethod(self, "item", nullptr));
    return element ? convert(element.get()) : nullptr;
}
PyObject *to_float(PyObject *self) { return converted(self, PyNumber_Float); }
PyObject *to_int(PyObject *self) { return converted(self, PyNumber_Long); }

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

const char kDoc[] =
    "A strided array on existing memory: a view of it that also keeps it alive.\n\n"
    "Made by wrap(), asarray(), from_dlpack(), from_arrow(), import_ipc() and empty(). Indexing and reshaping "
    "return views that share the memory. Only copy(), assignment and fill() copy. The cyclic "
    "garbage collector does not visit arrays, nor NumPy's: an owner that refers to its own array is never released.";

void append_getters(std::vector<PyGetSetDef> *all, const PyGetSetDef *part) {
    for (; part->name != nullptr; ++part) {
        all->push_back(*part);
    }
}

void append_methods(std::vector<PyMethodDef> *all, const PyMethodDef *part) {
    for (; part->ml_name != nullptr; ++part) {
        all->push_back(*part);
    }
}

// The type keeps pointers into both tables, so neither is ever freed.
PyMethodDef *all_methods(const ArrayTypeParts &parts) {
    auto *all = new std::vector<PyMethodDef>;
    append_methods(all, kViewMethods);
    append_methods(all, kDataMethods);
    for (const PyMethodDef *part : parts.methods) {
        append_methods(all, part);
    }
    all->push_back({nullptr, nullptr, 0, nullptr});
    return all->data();
}

PyGetSetDef *all_getters(const ArrayTypeParts &parts) {
    auto *all = new std::vector<PyGetSetDef>;
    append_getters(all, kInspectGetters);
    for (const PyGetSetDef *part : parts.getters) {
        append_getters(all, part);
    }
    all->push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
    return all->data();
}

}  // namespace

PyObject *new_array(via_array *array, Origin origin) {
    ArrayObject *object = PyObject_New(ArrayObject, g_array_type);
    if (object == nullptr) {
        release(array, origin);
        return nullptr;
    }
    object->array = array;
    object->weak_references = nullptr;
    object->origin = origin;
    return reinterpret_cast<PyObject *>(object);
}

bool add_array_type(PyObject *module, const ArrayTypeParts &parts) {
    std::vector<PyType_Slot> slots = {
        {Py_tp_doc, const_cast<char *>(kDoc)},
        {Py_tp_dealloc, slot(dealloc)},
        {Py_tp_repr, slot(array_repr)},
        {Py_tp_methods, all_methods(parts)},
        {Py_tp_getset, all_getters(parts)},
        {Py_tp_members, kMembers},
        {Py_nb_bool, slot(truth)},
        {Py_nb_float, slot(to_float)},
        {Py_nb_int, slot(to_int)},
        {Py_sq_length, slot(length)},
        {Py_sq_item, slot(array_item)},
        {Py_mp_length, slot(length)},
        {Py_mp_subscript, slot(array_subscript)},
    };
    for (const PyType_Slot *each = kOperatorSlots; each->slot != 0; ++each) {
        slots.push_back(*each);
    }
    slots.insert(slots.end(), parts.slots);
    slots.push_back({0, nullptr});
    PyType_Spec spec = {"viaduct.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots.data()};
    g_array_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return g_array_type != nullptr && PyModule_AddType(module, g_array_type) == 0;
}

}  // namespace viapy
