#include "support/arguments.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/errors.hpp"
#include "support/identity_cache.hpp"

namespace viapy {
namespace {

bool intern_names(Signature &signature) {
    int count = 0;
    while (count < kMaxParameters && signature.names[count] != nullptr) {
        signature.interned[count] = PyUnicode_InternFromString(signature.names[count]);
        if (signature.interned[count] == nullptr) {
            return false;
        }
        ++count;
    }
    signature.count = count;
    return true;
}

// Compares pointers first: keywords in a call are interned.
int position_of(const Signature &signature, PyObject *keyword) {
    for (int i = 0; i < signature.count; ++i) {
        if (signature.interned[i] == keyword) {
            return i;
        }
    }
    for (int i = 0; i < signature.count; ++i) {
        if (PyUnicode_Compare(signature.interned[i], keyword) == 0) {
            return i;
        }
    }
    return -1;
}

bool parse_keyword(const Signature &signature, PyObject *keyword, PyObject *value, PyObject **values) {
    int position = position_of(signature, keyword);
    if (position < 0) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature.function, keyword);
        return false;
    }
    if (values[position] != nullptr) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", signature.function, keyword);
        return false;
    }
    values[position] = value;
    return true;
}

bool has_required(const Signature &signature, PyObject **values) {
    for (int i = 0; i < signature.required; ++i) {
        if (values[i] == nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", signature.function,
                         signature.names[i]);
            return false;
        }
    }
    return true;
}

constexpr char kSequence[] = "a sequence of integers";

bool too_many(const char *function, const char *argument, Py_ssize_t found) {
    raise(VIA_ERROR_SHAPE, "%s: %s has %zd numbers; expected at most %d", function, argument, found,
          static_cast<int>(VIA_MAX_NDIM));
    return false;
}

bool parse_tuple(const char *function, const char *argument, PyObject *tuple, Extents *out) {
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > VIA_MAX_NDIM) {
        return too_many(function, argument, count);
    }
    out->count = static_cast<int32_t>(count);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!parse_int64(function, argument, PyTuple_GetItem(tuple, i), &out->values[i])) {
            return false;
        }
    }
    return true;
}

// Matches iterables of characters or without an order.
bool is_no_sequence(PyObject *value) {
    return PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value) || PyDict_Check(value) ||
           PyAnySet_Check(value);
}

bool parse_items(const char *function, const char *argument, PyObject *value, Extents *out) {
    Ref iterator(PyObject_GetIter(value));
    out->count = 0;
    while (Ref item{iterator ? PyIter_Next(iterator.get()) : nullptr}) {
        if (out->count == VIA_MAX_NDIM) {
            return too_many(function, argument, VIA_MAX_NDIM + 1);
        }
        if (!parse_int64(function, argument, item.get(), &out->values[out->count++])) {
            return false;
        }
    }
    return PyErr_Occurred() == nullptr || reword_type(function, argument, value, kSequence) != nullptr;
}

struct DeviceName {
    const char *name;
    int32_t type;
};
const DeviceName kDeviceNames[] = {
    {"cpu", VIA_DEVICE_CPU},
    {"cuda", VIA_DEVICE_CUDA},
    {"pinned", VIA_DEVICE_CUDA_HOST},
    {"managed", VIA_DEVICE_CUDA_MANAGED},
    {"any", VIA_DEVICE_ANY},
    {"cuda_host", VIA_DEVICE_CUDA_HOST},
    {"cuda_managed", VIA_DEVICE_CUDA_MANAGED},
    {"gpu", VIA_DEVICE_CUDA},
};

// Returns the id after a colon; -1 if that is not a number.
long parse_id(const char *text) {
    char *end = nullptr;
    long id = std::strtol(text, &end, 10);
    return *text < '0' || *text > '9' || *end != '\0' || id > INT32_MAX ? -1 : id;
}

bool parse_device_text(const char *text, Device *out) {
    const char *colon = std::strchr(text, ':');
    size_t length = colon != nullptr ? static_cast<size_t>(colon - text) : std::strlen(text);
    long id = colon != nullptr ? parse_id(colon + 1) : 0;
    for (const DeviceName &candidate : kDeviceNames) {
        if (std::strlen(candidate.name) == length && std::memcmp(candidate.name, text, length) == 0 && id >= 0) {
            *out = {candidate.type, static_cast<int32_t>(id)};
            return true;
        }
    }
    return false;
}

// Devices by the strings in a program's source.
IdentityCache<Device, 32> g_devices;

bool parse_device_name(PyObject *name, Device *out) {
    const char *text = whole_text(name);
    if (text == nullptr || !parse_device_text(text, out)) {
        return false;
    }
    g_devices.remember(name, *out);
    return true;
}

// Parses devices that print another text, by viaduct._interop.
bool parse_device_object(PyObject *value, Device *out) {
    if (PyUnicode_Check(value) || PyLong_Check(value)) {
        return false;
    }
    const Ref name = call_interop("device_name", value);
    const char *text = name && PyUnicode_Check(name.get()) ? whole_text(name.get()) : nullptr;
    return text != nullptr && parse_device_text(text, out);
}

bool parse_device_printed(PyObject *value, Device *out) {
    if (is_container(value)) {
        return false;
    }
    Ref printed(PyObject_Str(value));
    const char *text = printed ? whole_text(printed.get()) : nullptr;
    return text != nullptr && (parse_device_text(text, out) || parse_device_object(value, out));
}

bool parse_device_pair(const char *function, PyObject *pair, Device *out) {
    int64_t type = 0;
    int64_t id = 0;
    if (!parse_int64(function, "device", PyTuple_GetItem(pair, 0), &type) ||
        !parse_int64(function, "device", PyTuple_GetItem(pair, 1), &id)) {
        return false;
    }
    if (type < 0 || type > INT32_MAX || id < 0 || id > INT32_MAX) {
        raise(VIA_ERROR_DEVICE, "%s: device is %S; expected a pair of device type and id", function, shown(pair).get());
        return false;
    }
    *out = {static_cast<int32_t>(type), static_cast<int32_t>(id)};
    return true;
}

// Reads ctypes and cffi pointers, and objects with `ptr` or `data_ptr`, by viaduct._interop.
bool read_object(const char *function, PyObject *object, void **out) {
    const Ref number = call_interop("address_of", object);
    if (!number) {
        return false;
    }
    if (number.get() == Py_None) {
        raise_type(function, "ptr", object,
                   "an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`; an "
                   "array is imported by asarray()");
        return false;
    }
    return parse_number_address(function, "ptr", number.get(), out);
}

}  // namespace

bool parse_arguments(Signature &signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                     PyObject **values) {
    if (signature.count == 0 && !intern_names(signature)) {
        return false;
    }
    if (nargs > signature.positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments but %zd were given",
                     signature.function, signature.positional, nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; ++i) {
        values[i] = args[i];
    }
    Py_ssize_t keywords = kwnames != nullptr ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        if (!parse_keyword(signature, PyTuple_GetItem(kwnames, i), args[nargs + i], values)) {
            return false;
        }
    }
    return has_required(signature, values);
}

Ref as_int(const char *function, const char *argument, PyObject *value, const char *expected) {
    Ref index(PyNumber_Index(value));
    if (!index) {
        reword_type(function, argument, value, expected);
    }
    return index;
}

bool parse_int64(const char *function, const char *argument, PyObject *value, int64_t *out) {
    Ref index;
    if (!PyLong_Check(value)) {
        index = as_int(function, argument, value, "an integer");
        if (!index) {
            return false;
        }
        value = index.get();
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        raise(VIA_ERROR_OVERFLOW, "%s: %s is %S; expected a number of 64 bits", function, argument, shown(value).get());
        return false;
    }
    *out = number;
    return true;
}

bool parse_number_address(const char *function, const char *argument, PyObject *value, void **out) {
    Ref index(as_int(function, argument, value, "an address (an integer of 64 bits)"));
    if (!index) {
        return false;
    }
    unsigned long long address = PyLong_AsUnsignedLongLong(index.get());
    if (address == UINT64_MAX && PyErr_Occurred() != nullptr) {
        raise(VIA_ERROR_OVERFLOW, "%s: %s is %S; expected an address", function, argument, shown(index.get()).get());
        return false;
    }
    *out = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
    return true;
}

bool parse_address(const char *function, PyObject *pointer, void **out) {
    *out = nullptr;
    if (PyLong_CheckExact(pointer)) {
        return parse_number_address(function, "ptr", pointer, out);
    }
    return pointer == Py_None || read_object(function, pointer, out);
}

bool parse_int32(const char *function, const char *argument, PyObject *value, int32_t *out) {
    int64_t number = 0;
    if (!parse_int64(function, argument, value, &number)) {
        return false;
    }
    if (number < INT32_MIN || number > INT32_MAX) {
        raise(VIA_ERROR_OVERFLOW, "%s: %s is %lld; expected a number of 32 bits", function, argument,
              static_cast<long long>(number));
        return false;
    }
    *out = static_cast<int32_t>(number);
    return true;
}

// Tries __index__ first; arrays of integers have it too, and raise TypeError.
bool parse_extents(const char *function, const char *argument, PyObject *value, Extents *out) {
    if (PyTuple_Check(value)) {
        return parse_tuple(function, argument, value, out);
    }
    Ref index(PyIndex_Check(value) != 0 ? PyNumber_Index(value) : nullptr);
    if (index) {
        out->count = 1;
        return parse_int64(function, argument, index.get(), &out->values[0]);
    }
    if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return false;
    }
    PyErr_Clear();
    if (is_no_sequence(value)) {
        raise_type(function, argument, value, kSequence);
        return false;
    }
    return parse_items(function, argument, value, out);
}

PyObject *extents_tuple(PyObject *, PyObject *args) {
    const char *function = nullptr, *argument = nullptr;
    PyObject *value = nullptr;
    Extents extents;
    if (PyArg_ParseTuple(args, "ssO:_extents", &function, &argument, &value) == 0 ||
        !parse_extents(function, argument, value, &extents)) {
        return nullptr;
    }
    return tuple_of(extents.values, extents.count);
}

bool parse_axes(const char *function, const char *argument, PyObject *value, int32_t *out_count, int32_t *out_axes) {
    Extents axes;
    if (!parse_extents(function, argument, value, &axes)) {
        return false;
    }
    for (int32_t i = 0; i < axes.count; ++i) {
        if (axes.values[i] < INT32_MIN || axes.values[i] > INT32_MAX) {
            raise(VIA_ERROR_INDEX, "%s: %s is axis %lld; expected one of the array's", function, argument,
                  static_cast<long long>(axes.values[i]));
            return false;
        }
        out_axes[i] = static_cast<int32_t>(axes.values[i]);
    }
    *out_count = axes.count;
    return true;
}

bool parse_bool(PyObject *value, bool otherwise, bool *out) {
    int truth = !is_given(value) ? otherwise : value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    *out = truth == 1;
    return truth >= 0;
}

const char *whole_text(PyObject *text) {
    Py_ssize_t length = 0;
    const char *characters = PyUnicode_AsUTF8AndSize(text, &length);
    if (characters == nullptr) {
        PyErr_Clear();
        return nullptr;
    }
    return std::strlen(characters) == static_cast<size_t>(length) ? characters : nullptr;
}

PyObject *tuple_of(const int64_t *values, int32_t count) {
    Ref tuple(PyTuple_New(count));
    for (int32_t i = 0; tuple && i < count; ++i) {
        PyObject *number = PyLong_FromLongLong(values[i]);
        if (number == nullptr || PyTuple_SetItem(tuple.get(), i, number) != 0) {
            return nullptr;
        }
    }
    return tuple.release();
}

bool parse_device(const char *function, PyObject *value, Device *out) {
    if (!is_given(value)) {
        return true;
    }
    if (const Device *known = g_devices.find(value)) {
        *out = *known;
        return true;
    }
    if (PyTuple_Check(value) && PyTuple_Size(value) == 2) {
        return parse_device_pair(function, value, out);
    }
    if (PyUnicode_CheckExact(value) ? parse_device_name(value, out) : parse_device_printed(value, out)) {
        return true;
    }
    if (PyErr_Occurred() == nullptr) {
        raise(VIA_ERROR_DEVICE,
              "%s: device is %S; expected \"cpu\", \"cuda:0\", \"pinned\", \"managed\", \"any\", a pair of DLPack's "
              "device type and id, or a device of CuPy, torch, JAX, Numba or cuda.core",
              function, shown(value).get());
    }
    return false;
}

Bytes::~Bytes() {
    if (view_.obj != nullptr) {
        PyBuffer_Release(&view_);
    }
}

bool Bytes::parse(const char *function, const char *argument, PyObject *value) {
    if (PyObject_GetBuffer(value, &view_, PyBUF_SIMPLE) == 0) {
        return true;
    }
    if (PyErr_ExceptionMatches(PyExc_BufferError)) {
        raise_with_reason(VIA_ERROR_DTYPE, function, argument, "has no contiguous buffer:");
    } else {
        reword_type(function, argument, value, "bytes, or an object with a contiguous buffer");
    }
    return false;
}

PyObject *device_name(int32_t type, int32_t id) {
    if (type == VIA_DEVICE_CUDA) {
        return PyUnicode_FromFormat("cuda:%d", static_cast<int>(id));
    }
    for (const DeviceName &candidate : kDeviceNames) {
        if (candidate.type == type) {
            return PyUnicode_InternFromString(candidate.name);
        }
    }
    return PyUnicode_FromFormat("device %d:%d", static_cast<int>(type), static_cast<int>(id));
}

}  // namespace viapy
