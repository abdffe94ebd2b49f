// One element as the bytes that an array holds.
#pragma once

#include "support/python.hpp"

namespace viapy {

class Element {
public:
    // Encodes a number, or a bytes object of exactly one element. False with an exception set on failure.
    bool encode(const char *function, PyObject *value, int32_t dtype);
    const void *bytes() const { return bytes_; }

private:
    bool encode_number(const char *function, PyObject *value, int32_t dtype);
    bool convert(double number, int32_t dtype);
    bool encode_elsewhere(const char *function, PyObject *value, int32_t dtype);
    bool encode_bytes(const char *function, PyObject *value, int32_t dtype);
    bool repeat(int32_t bits, int32_t lanes);

    alignas(16) unsigned char number_[16] = {};
    Ref held_;  // a bytes object, where the element does not fit above
    const void *bytes_ = number_;
};

}  // namespace viapy
