#include "array.hpp"

#include <structmember.h>

#include <cstddef>
#include <vector>

#include "errors.hpp"
#include "exchange.hpp"

namespace viapy {

PyTypeObject *g_array_type = nullptr;

namespace {

void dealloc(PyObject *self) {
    ArrayObject *object = as_array_object(self);
    if (object->weak_references != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    PyTypeObject *type = Py_TYPE(self);
    keeping_error([object] { via_array_release(object->array); });
    PyObject_Free(self);
    Py_DECREF(type);
}

Py_ssize_t length(PyObject *self) {
    via_array *array = handle_of(self);
    if (via_array_ndim(array) == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of an array without dimensions");
        return -1;
    }
    return via_array_shape(array)[0];
}

// Without this, `if array` would mean its length, and that of one number something else than in NumPy.
int truth(PyObject *) {
    PyErr_SetString(PyExc_TypeError, "the truth of an Array is ambiguous: use .size, or .item() for its one element");
    return -1;
}

// float(array) and int(array), of its one element.
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
    "A strided array on memory that exists: a view of it, and a share in keeping it alive.\n\n"
    "Made by wrap(), asarray(), from_dlpack(), from_arrow(), import_ipc() and empty(). Indexing and reshaping give "
    "views that share the memory; nothing copies but copy(), assignment and fill(). Arrays take no part in the "
    "collection of reference cycles (as NumPy's do not): an owner that refers to its own array is never let go.";

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

// The type keeps pointers into both tables, so they stay for as long as the process.
PyMethodDef *all_methods() {
    auto *all = new std::vector<PyMethodDef>;
    append_methods(all, kViewMethods);
    append_methods(all, kDataMethods);
    append_methods(all, kBufferMethods);
    append_methods(all, kDlpackMethods);
    append_methods(all, kGiveMethods);
    append_methods(all, kArrowMethods);
    append_methods(all, kShareMethods);
    all->push_back({nullptr, nullptr, 0, nullptr});
    return all->data();
}

PyGetSetDef *all_getters() {
    auto *all = new std::vector<PyGetSetDef>;
    append_getters(all, kInspectGetters);
    append_getters(all, kInterfaceGetters);
    all->push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
    return all->data();
}

}  // namespace

PyObject *new_array(via_array *array, Origin origin) {
    ArrayObject *object = PyObject_New(ArrayObject, g_array_type);
    if (object == nullptr) {
        keeping_error([array] { via_array_release(array); });
        return nullptr;
    }
    object->array = array;
    object->weak_references = nullptr;
    object->origin = origin;
    return reinterpret_cast<PyObject *>(object);
}

bool add_array_type(PyObject *module) {
    std::vector<PyType_Slot> slots = {
        {Py_tp_doc, const_cast<char *>(kDoc)},
        {Py_tp_dealloc, slot(dealloc)},
        {Py_tp_repr, slot(array_repr)},
        {Py_tp_methods, all_methods()},
        {Py_tp_getset, all_getters()},
        {Py_tp_members, kMembers},
        {Py_nb_bool, slot(truth)},
        {Py_nb_float, slot(to_float)},
        {Py_nb_int, slot(to_int)},
        {Py_sq_length, slot(length)},
        {Py_sq_item, slot(array_item)},
        {Py_mp_length, slot(length)},
        {Py_mp_subscript, slot(array_subscript)},
        {Py_mp_ass_subscript, slot(array_assign)},
        {Py_bf_getbuffer, slot(get_buffer)},
        {Py_bf_releasebuffer, slot(release_buffer)},
    };
    for (const PyType_Slot *each = kOperatorSlots; each->slot != 0; ++each) {
        slots.push_back(*each);
    }
    slots.push_back({0, nullptr});
    PyType_Spec spec = {"viaduct.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots.data()};
    g_array_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return g_array_type != nullptr && add_exchange_api(reinterpret_cast<PyObject *>(g_array_type)) &&
           PyModule_AddType(module, g_array_type) == 0;
}

}  // namespace viapy
