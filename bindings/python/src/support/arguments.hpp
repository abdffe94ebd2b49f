// Arguments of fastcall functions, and the values in them.
#pragma once

#include "support/python.hpp"

namespace viapy {

inline constexpr int kMaxParameters = 12;

// The parameters of one function, in order. The first `positional` may be given without a name, the first `required`
// must be given. Others are NULL by default.
struct Signature {
    const char *function;
    int positional;
    int required;
    const char *names[kMaxParameters];
    int count = 0;  // filled in at first use, as are the names as Python strings
    PyObject *interned[kMaxParameters] = {};
};

// Stores the arguments of a call in values[count], borrowed. False with TypeError set if they do not match.
bool parse_arguments(Signature &signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                     PyObject **values);

// The number of values that a parsed function takes.
template <int count>
constexpr int values_of(PyObject *(*)(PyObject *self, PyObject *(&values)[count])) {
    return count;
}

// Parses a call by its signature, and passes the values to `function(self, values)`.
template <Signature &signature, auto function>
PyObject *call_parsed(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[values_of(function)] = {};
    return parse_arguments(signature, args, nargs, kwnames, values) ? function(self, values) : nullptr;
}

// Returns that as an entry of a method table, whose flags are kKeywords.
template <Signature &signature, auto function>
PyCFunction parsed() {
    return method(call_parsed<signature, function>);
}
inline constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

inline bool is_given(PyObject *value) { return value != nullptr && value != Py_None; }

// Parses an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`. None is NULL.
bool parse_address(const char *function, PyObject *pointer, void **out);

// Parses an integer only, without None.
bool parse_number_address(const char *function, const char *argument, PyObject *value, void **out);

// Numbers along the axes of an array, at most VIA_MAX_NDIM.
struct Extents {
    int32_t count = 0;
    int64_t values[VIA_MAX_NDIM];
};

// Returns whether the value is an integer of any library. A bool is not: it would be a mistake for a handle or a
// device.
inline bool is_number(PyObject *value) { return PyIndex_Check(value) != 0 && !PyBool_Check(value); }

// Returns a new reference to an int for an integer of any library; otherwise TypeError names the argument.
Ref as_int(const char *function, const char *argument, PyObject *value, const char *expected);

// Parses an integer, or an object with __index__.
bool parse_int64(const char *function, const char *argument, PyObject *value, int64_t *out);

// Parses a number of 32 bits.
bool parse_int32(const char *function, const char *argument, PyObject *value, int32_t *out);

// Parses a sequence of integers, or one integer as a sequence of one. Reads no more items than an array has axes.
bool parse_extents(const char *function, const char *argument, PyObject *value, Extents *out);

// _extents(function, argument, value): the same as a tuple, for Python code.
PyObject *extents_tuple(PyObject *, PyObject *args);

// The same as int32_t, for axes.
bool parse_axes(const char *function, const char *argument, PyObject *value, int32_t *out_count, int32_t *out_axes);

// Returns `otherwise` for None or an absent value.
bool parse_bool(PyObject *value, bool otherwise, bool *out);

// The contiguous bytes of an object with a buffer, held for the lifetime of this.
class Bytes {
public:
    Bytes() = default;
    ~Bytes();
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;
    bool parse(const char *function, const char *argument, PyObject *value);
    const void *data() const { return view_.buf; }
    int64_t length() const { return view_.len; }

private:
    Py_buffer view_{};
};

// Returns the text of a str for C. NULL for texts with a NUL character or without UTF-8. Sets no exception.
const char *whole_text(PyObject *text);

PyObject *tuple_of(const int64_t *values, int32_t count);

// A device: "cpu", "cuda:1", "pinned", "managed", "any" (detected), (type, id), or an object that prints such a text.
struct Device {
    int32_t type = VIA_DEVICE_CPU;
    int32_t id = 0;
};
bool parse_device(const char *function, PyObject *value, Device *out);
PyObject *device_name(int32_t type, int32_t id);

}  // namespace viapy
