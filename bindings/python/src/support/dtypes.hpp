// Element types in Python: names, types of NumPy, ml_dtypes, torch, TensorFlow and ctypes, numbers.
#pragma once

#include "support/python.hpp"

namespace viapy {

// Returns the dtype of `value`; 0 with an exception set if it is not one.
int32_t parse_dtype(const char *function, PyObject *value);

// Returns a numpy.dtype if NumPy (or ml_dtypes) is installed and has the type, otherwise the name.
PyObject *dtype_object(int32_t dtype);

PyObject *dtype_name(int32_t dtype);

// _dtype_number(function, dtype): parse_dtype() for Python code.
PyObject *dtype_number(PyObject *, PyObject *args);

// Capacity for any dtype's name.
inline constexpr int64_t kDtypeNameCapacity = 32;

// Writes the name into name[kDtypeNameCapacity], for messages. Returns name.
const char *dtype_text(int32_t dtype, char *name);

constexpr bool is_record(int32_t dtype) { return dtype < 0; }

// DLPack's codes of the kinds that this layer distinguishes.
enum Code { kInt = 0, kUInt = 1, kFloat = 2, kComplex = 5, kBool = 6 };
constexpr int32_t code_of(int32_t dtype) { return dtype & 0xFF; }
constexpr int32_t bits_of(int32_t dtype) { return dtype >> 8 & 0xFF; }
constexpr int32_t lanes_of(int32_t dtype) { return dtype >> 16; }
// Returns 0, which is no dtype, for bits that do not fit.
constexpr int32_t pack_dtype(int32_t code, int64_t bits) {
    return bits > 0 && bits < 256 ? static_cast<int32_t>(code | bits << 8 | 1 << 16) : 0;
}

}  // namespace viapy
