#include "conversion.hpp"

#include "array/array_convert.hpp"
#include "array/array_copy.hpp"
#include "interop/interop.hpp"
#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"
#include "support/gil.hpp"

namespace viapy {
namespace {

Signature kConvert = {"convert", 2, 2, {"dst", "src", "casting", "overflow", "byteorder", "stream"}};
Signature kConvertSubmit = {"convert_submit", 2, 2, {"dst", "src", "casting", "overflow", "byteorder", "stream"}};
Signature kConvertExplain = {"convert_explain", 2, 2, {"dst", "src", "casting", "overflow", "byteorder"}};
Signature kCanCast = {"can_cast", 3, 2, {"dtype", "to", "casting"}};

struct ConvertArguments {
    Ref dst;
    Ref src;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;

    bool parse(const char *function, PyObject *const *values) {
        dst = Ref(as_array(function, values[0], "dst"));
        src = dst ? Ref(as_array(function, values[1], "src")) : Ref();
        return src && parse_casting(function, values[2], &options) && parse_overflow(function, values[3], &options) &&
               parse_byte_order(function, values[4], &options);
    }
};

PyObject *convert_arrays(PyObject *, PyObject *(&values)[6]) {
    ConvertArguments given;
    StreamArgument stream;
    drain();
    if (!given.parse("convert", values) || !stream.parse("convert", values[5])) {
        return nullptr;
    }
    return none_or_raise(
        convert_elements(handle_of(given.dst.get()), handle_of(given.src.get()), given.options, stream.get()));
}

PyObject *convert_submit(PyObject *, PyObject *(&values)[6]) {
    ConvertArguments given;
    StreamArgument stream;
    drain();
    if (!given.parse("convert_submit", values) || !stream.parse("convert_submit", values[5])) {
        return nullptr;
    }
    via_task *task = nullptr;
    const via_status status = without_gil(true, [&] {
        return via_convert_submit(handle_of(given.dst.get()), handle_of(given.src.get()), &given.options, stream.get(),
                                  &task);
    });
    return handle_or_raise(HandleKind::Task, status, task);
}

PyObject *convert_explain(PyObject *, PyObject *(&values)[5]) {
    ConvertArguments given;
    if (!given.parse("convert_explain", values)) {
        return nullptr;
    }
    char text[4096];
    int64_t length = 0;
    const via_status status = via_convert_explain(handle_of(given.dst.get()), handle_of(given.src.get()),
                                                  &given.options, sizeof text, text, &length);
    return status == VIA_OK ? PyUnicode_FromString(text) : raise_status(status);
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
     "convert(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', stream=None)\n--\n\n"
     "Copies between two arrays of equal shape, and converts to the dtype of dst on the way.\n\n"
     "`casting` is NumPy's: 'equiv', 'safe', 'same_kind' or 'unsafe'. `overflow` says what a float too large for "
     "float8 and narrower becomes: 'infinity' or 'saturate'. `byteorder` is that of src: '=', '<' or '>'. Returns when "
     "done; with a stream, once the conversion is queued."},
    {"convert_submit", parsed<kConvertSubmit, convert_submit>(), kKeywords,
     "convert_submit(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=', stream=None)\n--\n\n"
     "Starts a conversion as convert() does, after the stream's work so far, and returns a Task at once."},
    {"convert_explain", parsed<kConvertExplain, convert_explain>(), kKeywords,
     "convert_explain(dst, src, *, casting='same_kind', overflow='infinity', byteorder='=')\n--\n\n"
     "Returns a text that says how convert() would do it, and where; converts nothing."},
    {"can_cast", parsed<kCanCast, can_cast>(), kKeywords,
     "can_cast(dtype, to, casting='safe')\n--\n\n"
     "Returns whether a casting rule allows convert() from one dtype to the other."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
