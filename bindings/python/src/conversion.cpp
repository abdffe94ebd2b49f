#include "conversion.hpp"

#include "objects/stream_argument.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

Signature kConvert = {"convert", 2, 2, {CONVERT_PARAMETERS, "stream"}};
Signature kConvertSubmit = {"convert_submit", 2, 2, {CONVERT_PARAMETERS, "stream"}};
Signature kConvertExplain = {"convert_explain", 2, 2, {CONVERT_PARAMETERS}};
Signature kCanCast = {"can_cast", 3, 2, {"dtype", "to", "casting"}};

PyObject *convert_arrays(PyObject *, PyObject *(&values)[9]) {
    ConvertArguments given;
    StreamArgument stream;
    drain();
    if (!given.parse("convert", values) || !stream.parse("convert", values[8])) {
        return nullptr;
    }
    return none_or_raise(convert_elements(given.dst(), given.src(), *given.options(), stream.get()));
}

PyObject *convert_submit(PyObject *, PyObject *(&values)[9]) {
    ConvertArguments given;
    StreamArgument stream;
    drain();
    if (!given.parse("convert_submit", values) || !stream.parse("convert_submit", values[8])) {
        return nullptr;
    }
    return start_task(true, [&](via_task **out_task) {
        return via_convert_submit(given.dst(), given.src(), given.options(), stream.get(), out_task);
    });
}

PyObject *convert_explain(PyObject *, PyObject *(&values)[8]) {
    ConvertArguments given;
    if (!given.parse("convert_explain", values)) {
        return nullptr;
    }
    return explanation([&](int64_t capacity, char *text, int64_t *length) {
        return via_convert_explain(given.dst(), given.src(), given.options(), capacity, text, length);
    });
}

PyObject *can_cast(PyObject *, PyObject *(&values)[3]) {
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.casting = VIA_CASTING_SAFE;
    const int32_t from = parse_dtype("can_cast", values[0]);
    const int32_t to = from != 0 ? parse_dtype("can_cast", values[1]) : 0;
    if (to == 0 || !parse_casting("can_cast", values[2], &options)) {
        return nullptr;
    }
    return PyBool_FromLong(via_dtype_can_cast(from, to, options.casting));
}

}  // namespace

PyMethodDef kConvertFunctions[] = {
    {"convert", parsed<kConvert, convert_arrays>(), kKeywords,
     "convert(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', scale=None, offset=None, "
     "scale_axis=0, stream=None)\n--\n\n"
     "Copies between two arrays of equal shape, and converts to the dtype of dst on the way.\n\n"
     "`casting` is NumPy's: 'equiv', 'safe', 'same_kind' or 'unsafe'. `overflow` says what a float too large for "
     "float8 and narrower becomes: 'infinity' or 'saturate'. `byteorder` is that of src: '=', '<' or '>'. With `scale` "
     "or "
     "`offset`, floats become src * scale + offset in float32; each is one number, or as many as dst has along "
     "`scale_axis`. Returns when done; with a stream, once the conversion is queued."},
    {"convert_submit", parsed<kConvertSubmit, convert_submit>(), kKeywords,
     "convert_submit(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', scale=None, offset=None, "
     "scale_axis=0, stream=None)\n--\n\n"
     "Starts a conversion as convert() does, after the stream's work so far, and returns a Task at once."},
    {"convert_explain", parsed<kConvertExplain, convert_explain>(), kKeywords,
     "convert_explain(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', scale=None, offset=None, "
     "scale_axis=0)\n--\n\n"
     "Returns a text that says how convert() would do it, and where; converts nothing."},
    {"can_cast", parsed<kCanCast, can_cast>(), kKeywords,
     "can_cast(dtype, to, casting='safe')\n--\n\n"
     "Returns whether a casting rule allows convert() from one dtype to the other."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
