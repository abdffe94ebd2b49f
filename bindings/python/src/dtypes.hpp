// Element types as Python says them: names, NumPy's and ml_dtypes' types, torch's, TensorFlow's, ctypes', numbers.
#pragma once

#include "python.hpp"

namespace viapy {

// The dtype that `value` means; 0 with an exception set if it means none.
int32_t parse_dtype(const char *function, PyObject *value);

// numpy.dtype where NumPy (and, for its extra types, ml_dtypes) can be imported and has the type; else the name.
PyObject *dtype_object(int32_t dtype);

PyObject *dtype_name(int32_t dtype);

// _dtype_number(function, dtype): parse_dtype() for what is written in Python.
PyObject *dtype_number(PyObject *, PyObject *args);

// Room for any dtype's name.
inline constexpr int64_t kDtypeNameCapacity = 32;

// The name for messages, into name[kDtypeNameCapacity]. Returns name.
const char *dtype_text(int32_t dtype, char *name);

constexpr bool is_record(int32_t dtype) { return dtype < 0; }

// DLPack's codes of the kinds that this layer tells apart.
enum Code { kInt = 0, kUInt = 1, kFloat = 2, kComplex = 5, kBool = 6 };
constexpr int32_t code_of(int32_t dtype) { return dtype & 0xFF; }
constexpr int32_t bits_of(int32_t dtype) { return dtype >> 8 & 0xFF; }
constexpr int32_t lanes_of(int32_t dtype) { return dtype >> 16; }
// 0, which is no dtype, for bits that have no room in one.
constexpr int32_t pack_dtype(int32_t code, int64_t bits) {
    return bits > 0 && bits < 256 ? static_cast<int32_t>(code | bits << 8 | 1 << 16) : 0;
}

}  // namespace viapy
