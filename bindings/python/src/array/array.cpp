#include "array/array.hpp"

#include <structmember.h>
#include <cstddef>
#include <vector>

#include "array/array_index.hpp"
#include "array/array_inspect.hpp"
#include "array/array_methods.hpp"
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

constexpr char kReason[] =
    "Array: there is no arithmetic, on purpose; expected a.numpy(), or another library's from_dlpack(a)";

// Returns whether no other library's type can handle the operator. Their arrays accept an Array as a buffer.
bool stands_alone(PyObject *operand) {
    return is_array(operand) || PyLong_CheckExact(operand) || PyFloat_CheckExact(operand) || PyBool_Check(operand) ||
           Py_IS_TYPE(operand, &PyComplex_Type);
}

PyObject *binary(PyObject *left, PyObject *right) {
    if (stands_alone(left) && stands_alone(right)) {
        return raise(VIA_ERROR_DTYPE, kReason);
    }
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

PyObject *power(PyObject *left, PyObject *right, PyObject *) { return binary(left, right); }

PyObject *unary(PyObject *) { return raise(VIA_ERROR_DTYPE, kReason); }

// Refuses `in`, which would otherwise compare rows by identity and find none.
int contains(PyObject *, PyObject *) {
    raise(VIA_ERROR_DTYPE, "Array: elements are not compared, on purpose; expected `x in a.numpy()`");
    return -1;
}

// Refuses arrays without dimensions, which would otherwise silently have no rows.
PyObject *iterate(PyObject *self) {
    if (via_array_ndim(handle_of(self)) == 0) {
        return raise(VIA_ERROR_DTYPE,
                     "Array: the array has no axis to iterate over; expected one, or item() for its one element");
    }
    return PySeqIter_New(self);
}

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

const char kDoc[] =
    "A strided array on existing memory: a view of it that also keeps it alive.\n\n"
    "Made by wrap(), asarray(), from_dlpack(), from_arrow(), import_ipc() and empty(). Indexing and reshaping "
    "return views that share the memory. Only copy(), assignment and fill() copy. The cyclic "
    "garbage collector does not visit arrays, nor NumPy's: an owner that refers to its own array is never released.";

bool is_end(const PyMethodDef &entry) { return entry.ml_name == nullptr; }
bool is_end(const PyGetSetDef &entry) { return entry.name == nullptr; }

// Joins tables into one, which is never freed: the type keeps pointers into it.
template <class Entry>
Entry *joined(std::initializer_list<const Entry *> own, std::initializer_list<const Entry *> others) {
    auto *all = new std::vector<Entry>;
    for (const auto &parts : {own, others}) {
        for (const Entry *part : parts) {
            for (; !is_end(*part); ++part) {
                all->push_back(*part);
            }
        }
    }
    all->push_back({});
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
        {Py_tp_methods, joined<PyMethodDef>({kViewMethods, kDataMethods}, parts.methods)},
        {Py_tp_getset, joined<PyGetSetDef>({kInspectGetters}, parts.getters)},
        {Py_tp_members, kMembers},
        {Py_nb_bool, slot(truth)},
        {Py_nb_float, slot(to_float)},
        {Py_nb_int, slot(to_int)},
        {Py_sq_length, slot(length)},
        {Py_sq_item, slot(array_item)},
        {Py_mp_length, slot(length)},
        {Py_mp_subscript, slot(array_subscript)},
        {Py_nb_add, slot(binary)},
        {Py_nb_subtract, slot(binary)},
        {Py_nb_multiply, slot(binary)},
        {Py_nb_true_divide, slot(binary)},
        {Py_nb_floor_divide, slot(binary)},
        {Py_nb_remainder, slot(binary)},
        {Py_nb_matrix_multiply, slot(binary)},
        {Py_nb_power, slot(power)},
        {Py_nb_negative, slot(unary)},
        {Py_nb_absolute, slot(unary)},
        {Py_sq_contains, slot(contains)},
        {Py_tp_iter, slot(iterate)},
    };
    slots.insert(slots.end(), parts.slots);
    slots.push_back({0, nullptr});
    PyType_Spec spec = {"viaduct.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots.data()};
    g_array_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return g_array_type != nullptr && PyModule_AddType(module, g_array_type) == 0;
}

}  // namespace viapy
