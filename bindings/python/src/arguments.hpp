// Arguments of fastcall functions, and the values in them.
#pragma once

#include "python.hpp"

namespace viapy {

inline constexpr int kMaxParameters = 11;

// The parameters of one function, in order: `positional` of them may be given without their name, `required` must be
// given, the others are NULL if not.
struct Signature {
    const char *function;
    int positional;
    int required;
    const char *names[kMaxParameters];
    int count = 0;  // filled in at first use, as are the names as Python strings
    PyObject *interned[kMaxParameters] = {};
};

// Sorts the arguments of a call into values[count], borrowed. false with TypeError set for a call that does not fit.
bool parse_arguments(Signature &signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                     PyObject **values);

inline bool is_given(PyObject *value) { return value != nullptr && value != Py_None; }

// An integer, or whatever tells its address: a pointer of ctypes or cffi, an object with `ptr` or `data_ptr`. None is
// NULL.
bool parse_address(const char *function, PyObject *pointer, void **out);

// An integer alone, without None.
bool parse_number_address(const char *function, const char *argument, PyObject *value, void **out);

// Numbers along the axes of an array, at most VIA_MAX_NDIM.
struct Extents {
    int32_t count = 0;
    int64_t values[VIA_MAX_NDIM];
};

// Whether it is an integer, of Python's or another library's. A bool is none: it is a slip where a handle or a device
// is named.
inline bool is_number(PyObject *value) { return PyIndex_Check(value) != 0 && !PyBool_Check(value); }

// A new reference to the int that an integer of any library is; TypeError names the argument for whatever is none.
Ref as_int(const char *function, const char *argument, PyObject *value, const char *expected);

// A Python integer, or whatever has __index__.
bool parse_int64(const char *function, const char *argument, PyObject *value, int64_t *out);

// A number of 32 bits.
bool parse_int32(const char *function, const char *argument, PyObject *value, int32_t *out);

// Integers in an order, or one integer for a sequence of one. Iterators are asked for no more than an array has axes.
bool parse_extents(const char *function, const char *argument, PyObject *value, Extents *out);

// _extents(function, argument, value): the same as a tuple, for what is written in Python.
PyObject *extents_tuple(PyObject *, PyObject *args);

// The same as int32_t, for axes.
bool parse_axes(const char *function, const char *argument, PyObject *value, int32_t *out_count, int32_t *out_axes);

// None or nothing is `otherwise`.
bool parse_bool(PyObject *value, bool otherwise, bool *out);

// What an object that lends its bytes holds, side by side, for as long as this is there.
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

// The text of a str for C, which ends at the first 0 character: NULL for a text with one inside, and for one that has
// no UTF-8. Sets no exception.
const char *whole_text(PyObject *text);

PyObject *tuple_of(const int64_t *values, int32_t count);

// A place: "cpu", "cuda:1", "pinned", "managed", "any" (to be found out), (type, id), or an object that prints so.
struct Device {
    int32_t type = VIA_DEVICE_CPU;
    int32_t id = 0;
};
bool parse_device(const char *function, PyObject *value, Device *out);
PyObject *device_name(int32_t type, int32_t id);

}  // namespace viapy
