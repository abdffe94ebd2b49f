#include "arguments.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "errors.hpp"
#include "remembered.hpp"

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

// Keywords written in a call are interned, so the comparison of texts hardly ever runs.
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

bool too_many(const char *function, const char *argument, Py_ssize_t found) {
    raise(VIA_ERROR_SHAPE, "%s: argument '%s': found %zd numbers, expected at most %d", function, argument, found,
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

bool is_text(PyObject *value) { return PyUnicode_Check(value) || PyBytes_Check(value); }

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

// The id behind a colon; -1 if that is no number.
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

// What the strings in a program's text name.
Remembered<Device, 32> g_devices;

bool parse_device_name(PyObject *name, Device *out) {
    const char *text = PyUnicode_AsUTF8AndSize(name, nullptr);
    if (text == nullptr || !parse_device_text(text, out)) {
        return false;
    }
    g_devices.remember(name, *out);
    return true;
}

// Devices of libraries that print another text, in viaduct._interop.
bool parse_device_object(PyObject *value, Device *out) {
    if (PyUnicode_Check(value) || PyLong_Check(value)) {
        return false;
    }
    Ref module(PyImport_ImportModule("viaduct._interop"));
    Ref name(module ? PyObject_CallMethod(module.get(), "device_name", "(O)", value) : nullptr);
    const char *text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
    return text != nullptr && parse_device_text(text, out);
}

bool parse_device_printed(PyObject *value, Device *out) {
    Ref printed(PyObject_Str(value));
    const char *text = printed ? PyUnicode_AsUTF8AndSize(printed.get(), nullptr) : nullptr;
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
        raise(VIA_ERROR_DEVICE, "%s: argument 'device': found %R, expected a pair of device type and id", function,
              pair);
        return false;
    }
    *out = {static_cast<int32_t>(type), static_cast<int32_t>(id)};
    return true;
}

}  // namespace

bool parse_arguments(Signature &signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                     PyObject **values) {
    if (signature.count == 0 && !intern_names(signature)) {
        return false;
    }
    if (nargs > signature.positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, found %zd", signature.function,
                     signature.positional, nargs);
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

bool parse_int64(const char *function, const char *argument, PyObject *value, int64_t *out) {
    Ref index;
    if (!PyLong_Check(value)) {
        index = Ref(PyNumber_Index(value));
        if (!index) {
            reword_type(function, argument, value, "an integer");
            return false;
        }
        value = index.get();
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        raise(VIA_ERROR_OVERFLOW, "%s: argument '%s': found %R, expected a number of 64 bits", function, argument,
              value);
        return false;
    }
    *out = number;
    return true;
}

bool parse_extents(const char *function, const char *argument, PyObject *value, Extents *out) {
    if (PyTuple_Check(value)) {
        return parse_tuple(function, argument, value, out);
    }
    if (PyLong_Check(value)) {
        out->count = 1;
        return parse_int64(function, argument, value, &out->values[0]);
    }
    static const char expected[] = "a sequence of integers";
    if (is_text(value)) {
        raise_type(function, argument, value, expected);
        return false;
    }
    Ref tuple(PySequence_Tuple(value));
    if (!tuple) {
        reword_type(function, argument, value, expected);
        return false;
    }
    return parse_tuple(function, argument, tuple.get(), out);
}

bool parse_axes(const char *function, const char *argument, PyObject *value, int32_t *out_count, int32_t *out_axes) {
    Extents axes;
    if (!parse_extents(function, argument, value, &axes)) {
        return false;
    }
    for (int32_t i = 0; i < axes.count; ++i) {
        if (axes.values[i] < INT32_MIN || axes.values[i] > INT32_MAX) {
            raise(VIA_ERROR_INDEX, "%s: argument '%s': found axis %lld, expected one of the array's", function,
                  argument, static_cast<long long>(axes.values[i]));
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

PyObject *tuple_of(const int64_t *values, int32_t count) {
    Ref tuple(PyTuple_New(count));
    for (int32_t i = 0; tuple && i < count; ++i) {
        PyObject *number = PyLong_FromLongLong(values[i]);
        if (number == nullptr || PyTuple_SetItem(tuple.get(), i, number) != 0) {
            return nullptr;
        }
    }
    return tuple.give();
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
              "%s: argument 'device': found %R, expected \"cpu\", \"cuda:0\", \"pinned\", \"managed\", \"any\", a pair "
              "of DLPack's device type and id, or a device of CuPy, torch, JAX, Numba or cuda.core",
              function, value);
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
        retell(VIA_ERROR_DTYPE, function, argument);
    } else {
        reword_type(function, argument, value, "bytes, or an object that lends them side by side");
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
