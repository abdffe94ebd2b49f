#include "support/element.hpp"

#include <cstring>

#include "support/dtypes.hpp"
#include "support/errors.hpp"

namespace viapy {
namespace {

bool wrong_type(const char *function, PyObject *value, int32_t dtype) {
    char name[kDtypeNameCapacity];
    Ref hold;
    raise(VIA_ERROR_DTYPE, "%s: value is of type %s; expected a value that %s can hold", function,
          type_name(value, &hold), dtype_text(dtype, name));
    return false;
}

bool out_of_range(const char *function, PyObject *value, int32_t dtype) {
    char name[kDtypeNameCapacity];
    raise(VIA_ERROR_OVERFLOW, "%s: value is %S; expected a value that %s can hold", function, shown(value).get(),
          dtype_text(dtype, name));
    return false;
}

// Translates TypeError and OverflowError of a conversion; keeps any other exception.
bool refuse(const char *function, PyObject *value, int32_t dtype) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return out_of_range(function, value, dtype);
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
        return false;
    }
    PyErr_Clear();
    return wrong_type(function, value, dtype);
}

// Returns complex(value), from __complex__ or __float__; empty with an exception set on failure.
// PyComplex_RealAsDouble() uses __complex__ only since Python 3.13.
Ref complex_of(PyObject *value) {
    if (PyUnicode_Check(value)) {  // which complex() would parse
        PyErr_SetNone(PyExc_TypeError);
        return Ref();
    }
    return Ref(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject *>(&PyComplex_Type), value, nullptr));
}

// Returns a float; empty with an exception set on failure, also for complex numbers with an imaginary part, which
// float() of NumPy's would drop.
Ref real_of(PyObject *value) {
    if (PyFloat_Check(value) || PyLong_Check(value) || PyObject_HasAttrString(value, "__complex__") == 0) {
        double real = PyFloat_AsDouble(value);
        return Ref(PyErr_Occurred() == nullptr ? PyFloat_FromDouble(real) : nullptr);
    }
    Ref number(complex_of(value));
    if (number && PyComplex_ImagAsDouble(number.get()) != 0) {
        PyErr_SetNone(PyExc_TypeError);
        return Ref();
    }
    return Ref(number ? PyFloat_FromDouble(PyComplex_RealAsDouble(number.get())) : nullptr);
}

// Writes in little-endian order, that of every supported machine.
template <class Number>
void put(unsigned char *out, Number number) {
    std::memcpy(out, &number, sizeof number);
}

bool encode_integer(const char *function, PyObject *value, int32_t dtype, unsigned char *out) {
    Ref index(PyNumber_Index(value));
    if (!index) {
        return refuse(function, value, dtype);
    }
    int bits = bits_of(dtype);
    if (code_of(dtype) == kUInt) {
        unsigned long long number = PyLong_AsUnsignedLongLong(index.get());
        if (PyErr_Occurred() != nullptr || (bits < 64 && number >> bits != 0)) {
            return out_of_range(function, value, dtype);
        }
        put(out, number);
        return true;
    }
    long long number = PyLong_AsLongLong(index.get());
    long long limit = 1LL << (bits - 1);
    if (PyErr_Occurred() != nullptr || (bits < 64 && (number < -limit || number >= limit))) {
        return out_of_range(function, value, dtype);
    }
    put(out, bits < 8 ? number & ((1LL << bits) - 1) : number);
    return true;
}

bool encode_float(const char *function, PyObject *value, int32_t dtype, unsigned char *out) {
    Ref real(real_of(value));
    if (!real) {
        return refuse(function, value, dtype);
    }
    double number = PyFloat_AsDouble(real.get());
    if (bits_of(dtype) == 32) {
        put(out, static_cast<float>(number));
    } else {
        put(out, number);
    }
    return true;
}

bool encode_complex(const char *function, PyObject *value, int32_t dtype, unsigned char *out) {
    Ref number(complex_of(value));
    if (!number) {
        return refuse(function, value, dtype);
    }
    double real = PyComplex_RealAsDouble(number.get());
    double imaginary = PyComplex_ImagAsDouble(number.get());
    if (bits_of(dtype) == 64) {
        put(out, static_cast<float>(real));
        put(out + 4, static_cast<float>(imaginary));
    } else {
        put(out, real);
        put(out + 8, imaginary);
    }
    return true;
}

bool encode_bool(const char *function, PyObject *value, int32_t dtype, unsigned char *out) {
    if (PyNumber_Check(value) == 0) {  // a text or a list, which would be true if it is not empty
        return wrong_type(function, value, dtype);
    }
    int truth = PyObject_IsTrue(value);
    out[0] = truth == 1;
    return truth >= 0 || refuse(function, value, dtype);
}

bool is_wide_float(int32_t dtype) { return code_of(dtype) == kFloat && (bits_of(dtype) == 32 || bits_of(dtype) == 64); }

bool is_wide_complex(int32_t dtype) {
    return code_of(dtype) == kComplex && (bits_of(dtype) == 64 || bits_of(dtype) == 128);
}

bool is_integer(int32_t dtype) { return (code_of(dtype) == kInt || code_of(dtype) == kUInt) && bits_of(dtype) <= 64; }

bool wrap_one(void *address, int32_t dtype, via_array **out) {
    return via_wrap(address, dtype, 0, nullptr, nullptr, VIA_DEVICE_CPU, 0, VIA_WRAP_UNCHECKED, nullptr, nullptr,
                    out) == VIA_OK;
}

int64_t element_bytes(int32_t dtype) { return (via_dtype_bits(dtype) + 7) / 8; }

}  // namespace

bool Element::encode(const char *function, PyObject *value, int32_t dtype) {
    if (PyBytes_Check(value)) {
        return encode_bytes(function, value, dtype);
    }
    if (is_record(dtype)) {
        return wrong_type(function, value, dtype);
    }
    if (!encode_number(function, value, dtype)) {
        return false;
    }
    return lanes_of(dtype) == 1 || repeat(bits_of(dtype), lanes_of(dtype));
}

bool Element::encode_number(const char *function, PyObject *value, int32_t dtype) {
    if (is_wide_float(dtype)) {
        return encode_float(function, value, dtype, number_);
    }
    if (is_integer(dtype)) {
        return encode_integer(function, value, dtype, number_);
    }
    if (is_wide_complex(dtype)) {
        return encode_complex(function, value, dtype, number_);
    }
    if (code_of(dtype) == kBool) {
        return encode_bool(function, value, dtype, number_);
    }
    return encode_elsewhere(function, value, dtype);
}

// Rounds as a conversion of the whole array would, once; false for types that nothing is converted to.
bool Element::convert(double number, int32_t dtype) {
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.casting = VIA_CASTING_UNSAFE;
    OwnedArray from;
    OwnedArray to;
    return wrap_one(&number, VIA_FLOAT64, from.out()) &&
           wrap_one(number_, pack_dtype(code_of(dtype), bits_of(dtype)), to.out()) &&
           via_convert(to.get(), from.get(), &options, nullptr) == VIA_OK;
}

// Rounds halves by the struct module, bfloat16 and float8 as conversions do, what is narrower by ml_dtypes.
bool Element::encode_elsewhere(const char *function, PyObject *value, int32_t dtype) {
    Ref number(code_of(dtype) == kComplex ? complex_of(value) : real_of(value));
    if (!number) {
        return refuse(function, value, dtype);
    }
    const bool is_half = code_of(dtype) == kFloat || code_of(dtype) == kComplex;
    if (!is_half && convert(PyFloat_AsDouble(number.get()), dtype)) {
        return true;
    }
    const Ref name(dtype_name(pack_dtype(code_of(dtype), bits_of(dtype))));
    const Ref bytes = name ? call_interop("encode", number.get(), name.get()) : Ref();
    if (!bytes && PyErr_ExceptionMatches(PyExc_TypeError)) {
        raise_with_reason(VIA_ERROR_DTYPE, function, "value", "is");
        return false;
    }
    if (!bytes) {
        return PyErr_ExceptionMatches(PyExc_OverflowError) && out_of_range(function, value, dtype);
    }
    char *text = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(bytes.get(), &text, &length) != 0) {
        return false;
    }
    std::memcpy(number_, text, static_cast<size_t>(length < 16 ? length : 16));
    return true;
}

bool Element::encode_bytes(const char *function, PyObject *value, int32_t dtype) {
    char *text = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(value, &text, &length) != 0) {
        return false;
    }
    if (length != element_bytes(dtype)) {
        char name[kDtypeNameCapacity];
        raise(VIA_ERROR_INVALID_ARGUMENT, "%s: value has %zd bytes; expected the %lld of one %s", function, length,
              static_cast<long long>(element_bytes(dtype)), dtype_text(dtype, name));
        return false;
    }
    held_ = Ref::share(value);
    bytes_ = text;
    return true;
}

// Copies bit by bit: lanes narrower than a byte are adjacent, the first in the lowest bits.
bool Element::repeat(int32_t bits, int32_t lanes) {
    int32_t nbytes = (bits * lanes + 7) / 8;
    held_ = Ref(PyBytes_FromStringAndSize(nullptr, nbytes));
    char *text = held_ ? PyBytes_AsString(held_.get()) : nullptr;
    if (text == nullptr) {
        return false;
    }
    std::memset(text, 0, static_cast<size_t>(nbytes));
    for (int32_t i = 0; i < bits * lanes; ++i) {
        int32_t bit = number_[i % bits / 8] >> i % bits % 8 & 1;
        text[i / 8] = static_cast<char>(text[i / 8] | bit << i % 8);
    }
    bytes_ = text;
    return true;
}

}  // namespace viapy
