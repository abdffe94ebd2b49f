// One element as the bytes that an array holds.
#pragma once

#include "python.hpp"

namespace viapy {

class Element {
public:
    // A number, or a bytes object of exactly one element's size. false with an exception set if it does not fit.
    bool encode(const char *function, PyObject *value, int32_t dtype);
    const void *bytes() const { return bytes_; }

private:
    bool encode_number(const char *function, PyObject *value, int32_t dtype);
    bool encode_elsewhere(const char *function, PyObject *value, int32_t dtype);
    bool take_bytes(const char *function, PyObject *value, int32_t dtype);
    bool repeat(int32_t bits, int32_t lanes);

    alignas(16) unsigned char number_[16] = {};
    Ref held_;  // a bytes object, where the element does not fit above
    const void *bytes_ = number_;
};

}  // namespace viapy
