#include "support/dtypes.hpp"

#include <cstdio>

#include "support/arguments.hpp"
#include "support/errors.hpp"
#include "support/identity_cache.hpp"

namespace viapy {
namespace {

// Dtypes by types, dtype objects and strings whose meaning never changes.
IdentityCache<int32_t, 128> g_answers;

int32_t named(const char *name) {
    int32_t dtype = 0;
    return via_dtype_from_name(name, &dtype) == VIA_OK ? dtype : 0;
}

// Raises the default error, if no helper written in Python found a reason.
int32_t unknown(const char *function, PyObject *value) {
    raise(VIA_ERROR_DTYPE,
          "%s: dtype is %S; expected an element type: a name such as \"float32\", a dtype of NumPy, ml_dtypes, torch "
          "or TensorFlow, a type of ctypes, or a number made by the C API",
          function, shown(value).get());
    return 0;
}

int32_t parse_number(const char *function, PyObject *value) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    bool fits = overflow == 0 && number >= INT32_MIN && number <= INT32_MAX;
    if (!fits || via_dtype_is_valid(static_cast<int32_t>(number)) == 0) {
        return unknown(function, value);
    }
    return static_cast<int32_t>(number);
}

// Asks viaduct._interop.name_of_dtype, which returns a name, the size of a record, or raises TypeError with the reason.
int32_t parse_foreign(const char *function, PyObject *value) {
    const Ref meant = call_interop("name_of_dtype", value);
    if (!meant) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            raise_with_reason(VIA_ERROR_DTYPE, function, "dtype", "is");
        }
        return 0;
    }
    if (PyLong_Check(meant.get())) {
        int32_t dtype = via_dtype_record(PyLong_AsLongLong(meant.get()));
        return dtype != 0 ? dtype : unknown(function, value);
    }
    const char *name = PyUnicode_Check(meant.get()) ? whole_text(meant.get()) : nullptr;
    int32_t dtype = name != nullptr ? named(name) : 0;
    return dtype != 0 ? dtype : unknown(function, value);
}

bool always_means_the_same(PyObject *value) {
    if (PyUnicode_CheckExact(value)) {
        return true;
    }
    const Ref answer = call_interop("is_fixed_dtype", value);
    PyErr_Clear();
    return answer.get() == Py_True;
}

int32_t parse_text(const char *function, PyObject *value) {
    const char *name = whole_text(value);
    int32_t dtype = name != nullptr ? named(name) : 0;
    return dtype != 0 ? dtype : parse_foreign(function, value);
}

// Cached dtype objects, by number. Few programs use more than a handful. A name stands until another module is
// imported, which may have the type.
struct Made {
    int32_t dtype;
    Py_ssize_t modules;  // how many there were
    PyObject *object;

    bool holds(int32_t wanted) const {
        return dtype == wanted && object != nullptr &&
               (!PyUnicode_Check(object) || modules == PyDict_Size(PyImport_GetModuleDict()));
    }
};
Made g_made[128] = {};

PyObject *make_dtype_object(int32_t dtype) {
    const Ref name(dtype_name(dtype));
    const Ref record(PyLong_FromLongLong(is_record(dtype) ? -static_cast<long long>(dtype) : 0));
    return name && record ? call_interop("dtype_object", name.get(), record.get()).release() : nullptr;
}

}  // namespace

int32_t parse_dtype(const char *function, PyObject *value) {
    if (const int32_t *known = g_answers.find(value)) {
        return *known;
    }
    if (PyLong_CheckExact(value)) {
        return parse_number(function, value);
    }
    int32_t dtype = PyUnicode_Check(value) ? parse_text(function, value) : parse_foreign(function, value);
    if (dtype != 0 && always_means_the_same(value)) {
        g_answers.remember(value, dtype);
    }
    return dtype;
}

PyObject *dtype_number(PyObject *, PyObject *args) {
    const char *function = nullptr;
    PyObject *value = nullptr;
    int32_t dtype = 0;
    if (PyArg_ParseTuple(args, "sO:_dtype_number", &function, &value) == 0 ||
        (dtype = parse_dtype(function, value)) == 0) {
        return nullptr;
    }
    return PyLong_FromLong(dtype);
}

PyObject *dtype_object(int32_t dtype) {
    Made &slot = g_made[static_cast<uint32_t>(dtype * 0x9E3779B1u) >> 25];
    if (!slot.holds(dtype)) {
        PyObject *object = make_dtype_object(dtype);
        if (object == nullptr) {
            return nullptr;
        }
        Ref forgotten(slot.object);
        slot = {dtype, PyDict_Size(PyImport_GetModuleDict()), object};
        Py_INCREF(object);
        return object;
    }
    Py_INCREF(slot.object);
    return slot.object;
}

const char *dtype_text(int32_t dtype, char *name) {
    if (via_dtype_name(dtype, kDtypeNameCapacity, name) != VIA_OK) {
        std::snprintf(name, kDtypeNameCapacity, "dtype 0x%x", static_cast<unsigned>(dtype));
    }
    return name;
}

PyObject *dtype_name(int32_t dtype) {
    char name[kDtypeNameCapacity];
    return PyUnicode_FromString(dtype_text(dtype, name));
}

}  // namespace viapy
