// Conversions of arrays to other dtypes, and the arguments that they take.
#pragma once

#include <vector>

#include "array/array.hpp"
#include "support/arguments.hpp"

namespace viapy {

// Parse a word into the options. An absent one leaves them as they are.
bool parse_casting(const char *function, PyObject *value, via_convert_options *options);
bool parse_overflow(const char *function, PyObject *value, via_convert_options *options);

// The arguments of a conversion, in this order; its scales and offsets are held for the call.
#define CONVERSION_OPTIONS "casting", "overflow", "byteorder", "scale", "offset", "scale_axis"

class ConversionOptions {
public:
    bool parse(const char *function, PyObject *const *values);
    const via_convert_options &get() const { return options_; }

private:
    // Scale and offset are None, a number, or a sequence of numbers each; one number is repeated.
    bool parse_numbers(const char *function, PyObject *scale, PyObject *offset, PyObject *axis);

    via_convert_options options_ = VIA_CONVERT_OPTIONS_INIT;
    std::vector<float> scale_;
    std::vector<float> offset_;
};

// Converts on the stream, or until done if that is NULL.
via_status convert_elements(via_array *dst, via_array *src, const via_convert_options &options, via_stream *stream);

// Returns a new row-major array of a dtype on a device. Waits for the conversion.
PyObject *convert_to(const char *function, via_array *source, int32_t dtype, const Device &device,
                     const via_convert_options &options);

}  // namespace viapy
