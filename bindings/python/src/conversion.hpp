// Module functions that copy to another dtype, and the arguments that they take.
#pragma once

#include "array/array_convert.hpp"
#include "copy.hpp"

namespace viapy {

#define CONVERT_PARAMETERS "dst", "src", CONVERSION_OPTIONS

struct ConvertArguments : ArrayPair {
    ConversionOptions conversion;

    const via_convert_options *options() const { return &conversion.get(); }
    bool parse(const char *function, PyObject *const *values) {
        return ArrayPair::parse(function, values[0], values[1]) && conversion.parse(function, values + 2);
    }
};

extern PyMethodDef kConvertFunctions[];

}  // namespace viapy
