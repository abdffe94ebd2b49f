// Module functions that copy to another dtype, and the arguments that they take.
#pragma once

#include "array/array_convert.hpp"
#include "copy.hpp"

namespace viapy {

#define CONVERT_PARAMETERS "dst", "src", "casting", "overflow", "byteorder", "scale", "offset", "scale_axis"

struct ConvertArguments : ArrayPair {
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;

    bool parse(const char *function, PyObject *const *values) {
        return ArrayPair::parse(function, values[0], values[1]) && parse_casting(function, values[2], &options) &&
               parse_overflow(function, values[3], &options) && parse_byte_order(function, values[4], &options) &&
               numbers.parse(function, values[5], values[6], values[7], &options);
    }

    AffineNumbers numbers;
};

extern PyMethodDef kConvertFunctions[];

}  // namespace viapy
