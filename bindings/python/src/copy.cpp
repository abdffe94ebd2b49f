#include "copy.hpp"

#include <algorithm>

#include "array/array_convert.hpp"
#include "array/array_copy.hpp"
#include "array/array_index.hpp"
#include "interop/interop.hpp"
#include "objects/stream_argument.hpp"
#include "support/arguments.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

bool is_one_element(via_array *array, PyObject *value) {
    bool is_number = PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value);
    return is_number || (PyBytes_Check(value) && via_array_dtype(array) < 0);
}

// A scalar of another library may have another dtype than the array. Then its value is assigned.
bool is_foreign_scalar(via_array *array, PyObject *source) {
    return via_array_ndim(handle_of(source)) == 0 && via_array_dtype(handle_of(source)) != via_array_dtype(array);
}

bool refuse_shapes(const char *function, const char *argument, via_array *dst, via_array *src) {
    Ref wanted(tuple_of(via_array_shape(dst), via_array_ndim(dst)));
    Ref given(tuple_of(via_array_shape(src), via_array_ndim(src)));
    if (wanted && given) {
        raise(VIA_ERROR_SHAPE, "%s: %s has shape %S; expected one that broadcasts to %S, the shape of the destination",
              function, argument, given.get(), wanted.get());
    }
    return false;
}

// Repeats src as dst requires. As in NumPy, axes of extent 1 in front of those of dst do not count.
via_status broadcast_to(via_array *dst, via_array *src, via_array **out_wide) {
    OwnedArray trimmed;
    const int64_t *shape = via_array_shape(src);
    const int32_t extra = std::max(0, via_array_ndim(src) - via_array_ndim(dst));
    if (extra > 0 && std::all_of(shape, shape + extra, [](int64_t extent) { return extent == 1; })) {
        const via_status status = via_array_reshape(src, via_array_ndim(dst), shape + extra, trimmed.out());
        if (status != VIA_OK) {
            return status;
        }
    }
    return via_array_broadcast(trimmed ? trimmed.get() : src, via_array_ndim(dst), via_array_shape(dst), out_wide);
}

// Converts as the options say; without any, dtypes must be equal.
bool assign_array(const char *function, const char *argument, via_array *dst, via_array *src,
                  const via_convert_options *options, via_stream *stream) {
    OwnedArray wide;
    via_status status = broadcast_to(dst, src, wide.out());
    if (status == VIA_ERROR_SHAPE) {
        return refuse_shapes(function, argument, dst, src);
    }
    if (status == VIA_OK) {
        status = options != nullptr ? convert_elements(dst, wide.get(), *options, stream)
                                    : copy_elements(dst, wide.get(), stream);
    }
    return ok_or_raise(status);
}

// Returns whether only an unsafe conversion makes an element of the number: its fraction or imaginary part is cut off.
bool loses_part(via_array *array, PyObject *value) {
    const int32_t dtype = via_array_dtype(array);
    const int32_t code = code_of(dtype);
    const bool loses_fraction = PyFloat_Check(value) && (code == kInt || code == kUInt);
    const bool loses_imaginary = PyComplex_Check(value) && code != kComplex && code != kBool;
    return !is_record(dtype) && (loses_fraction || loses_imaginary);
}

// Returns an array of the number, to convert.
Ref array_of_number(const char *function, PyObject *value) {
    const int32_t dtype = PyComplex_Check(value) ? VIA_COMPLEX128 : VIA_FLOAT64;
    Ref array(array_from(Origin::HostMemory, via_empty, nullptr, dtype, 0, nullptr, nullptr));
    return array && fill_array(function, handle_of(array.get()), value, nullptr) ? std::move(array) : Ref();
}

// Implements dst[...] = value, on a stream if one is given.
bool assign(const char *function, via_array *array, PyObject *value, const char *argument,
            const via_convert_options *options, via_stream *stream) {
    const bool is_cut_off = options != nullptr && options->casting == VIA_CASTING_UNSAFE && loses_part(array, value);
    if (!is_cut_off && is_one_element(array, value)) {
        return fill_array(function, array, value, stream);
    }
    Ref source(is_cut_off ? array_of_number(function, value) : Ref(as_array(function, value, argument)));
    if (!source) {
        return false;
    }
    if (options == nullptr && !is_array(value) && is_foreign_scalar(array, source.get())) {
        return fill_array(function, array, value, stream);
    }
    return assign_array(function, argument, array, handle_of(source.get()), options, stream);
}

Signature kCopy = {"copy", 3, 2, {"dst", "src", "stream"}};
Signature kCopyto = {"copyto", 3, 2, {"dst", "src", "stream", "casting"}};
Signature kCopySubmit = {"copy_submit", 3, 2, {"dst", "src", "stream"}};
Signature kCopyIndexed = {"copy_indexed", 6, 4, {INDEXED_PARAMETERS, "stream", CONVERSION_OPTIONS}};
Signature kCopyIndexedSubmit = {"copy_indexed_submit", 6, 4, {INDEXED_PARAMETERS, "stream", CONVERSION_OPTIONS}};
Signature kFill = {"fill", 3, 2, {"dst", "value", "stream"}};
Signature kExplain = {"copy_explain", 2, 2, {"dst", "src"}};

PyObject *copy(PyObject *, PyObject *(&values)[3]) {
    ArrayPair pair;
    StreamArgument stream;
    drain();
    if (!pair.parse("copy", values[0], values[1]) || !stream.parse("copy", values[2])) {
        return nullptr;
    }
    return none_or_raise(copy_elements(pair.dst(), pair.src(), stream.get()));
}

PyObject *copyto(PyObject *, PyObject *(&values)[4]) {
    StreamArgument stream;
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    drain();
    if (!stream.parse("copyto", values[2]) || !parse_casting("copyto", values[3], &options)) {
        return nullptr;
    }
    const via_convert_options *given = is_given(values[3]) ? &options : nullptr;
    Ref dst(as_array("copyto", values[0], "dst"));
    return dst && assign("copyto", handle_of(dst.get()), values[1], "src", given, stream.get()) ? none() : nullptr;
}

PyObject *copy_submit(PyObject *, PyObject *(&values)[3]) {
    ArrayPair pair;
    StreamArgument stream;
    drain();
    if (!pair.parse("copy_submit", values[0], values[1]) || !stream.parse("copy_submit", values[2])) {
        return nullptr;
    }
    return start_task(worth_unlocking(pair.dst(), pair.src()), [&](via_task **out_task) {
        return via_copy_submit(pair.dst(), pair.src(), stream.get(), out_task);
    });
}

struct IndexedCopy : IndexedRows {
    StreamArgument stream;

    bool parse(const char *function, PyObject *const *values) {
        return IndexedRows::parse(function, values) && stream.parse(function, values[5]) &&
               parse_options(function, values + 6);
    }
};

PyObject *copy_indexed(PyObject *, PyObject *(&values)[12]) {
    IndexedCopy copy;
    drain();
    if (!copy.parse("copy_indexed", values)) {
        return nullptr;
    }
    const via_status status = without_gil(true, [&] {
        return via_copy_indexed(copy.dst(), copy.dst_index(), copy.src(), copy.src_index(), copy.axis, copy.options(),
                                copy.stream.get());
    });
    return none_or_raise(status);
}

PyObject *copy_indexed_submit(PyObject *, PyObject *(&values)[12]) {
    IndexedCopy copy;
    drain();
    if (!copy.parse("copy_indexed_submit", values)) {
        return nullptr;
    }
    return start_task(true, [&](via_task **out_task) {
        return via_copy_indexed_submit(copy.dst(), copy.dst_index(), copy.src(), copy.src_index(), copy.axis,
                                       copy.options(), copy.stream.get(), out_task);
    });
}

PyObject *fill(PyObject *, PyObject *(&values)[3]) {
    StreamArgument stream;
    if (!stream.parse("fill", values[2])) {
        return nullptr;
    }
    Ref dst(as_array("fill", values[0], "dst"));
    return dst && fill_array("fill", handle_of(dst.get()), values[1], stream.get()) ? none() : nullptr;
}

PyObject *copy_explain(PyObject *, PyObject *(&values)[2]) {
    ArrayPair pair;
    if (!pair.parse("copy_explain", values[0], values[1])) {
        return nullptr;
    }
    return explanation([&](int64_t capacity, char *text, int64_t *length) {
        return via_copy_explain(pair.dst(), pair.src(), capacity, text, length);
    });
}

// Makes an array of int64 of a list, a tuple or a range. Returns the object itself if it is none of them.
Ref index_object(PyObject *given) {
    if (!PyList_Check(given) && !PyTuple_Check(given) && !PyRange_Check(given)) {
        return Ref::share(given);
    }
    Ref module(PyImport_ImportModule("array"));
    return module ? Ref(PyObject_CallMethod(module.get(), "array", "sO", "q", given)) : Ref();
}

// Says of which list the module `array` complained.
bool refuse_list(const char *function, const char *argument) {
    constexpr char kWords[] = "is no list of row numbers; expected integers of 64 bits:";
    if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
        raise_with_reason(VIA_ERROR_DTYPE, function, argument, kWords);
    } else if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) {
        raise_with_reason(VIA_ERROR_OVERFLOW, function, argument, kWords);
    }
    return false;
}

// Python's booleans are integers too. A list of them is meant as a mask, and would name rows 0 and 1.
bool holds_booleans(PyObject *given) {
    const Py_ssize_t count = PyList_Check(given) ? PyList_Size(given) : PyTuple_Check(given) ? PyTuple_Size(given) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyBool_Check(PyList_Check(given) ? PyList_GetItem(given, i) : PyTuple_GetItem(given, i))) {
            return true;
        }
    }
    return false;
}

bool parse_index(const char *function, PyObject *given, const char *argument, Ref *out_index) {
    if (given == Py_None) {
        return true;
    }
    if (holds_booleans(given)) {
        raise(VIA_ERROR_DTYPE, "%s: %s holds booleans; expected row numbers", function, argument);
        return false;
    }
    const Ref object = index_object(given);
    if (!object) {
        return refuse_list(function, argument);
    }
    *out_index = Ref(as_array(function, object.get(), argument));
    return bool(*out_index);
}

}  // namespace

bool ArrayPair::parse(const char *function, PyObject *given_dst, PyObject *given_src) {
    dst_object = Ref(as_array(function, given_dst, "dst"));
    src_object = dst_object ? Ref(as_array(function, given_src, "src")) : Ref();
    return bool(src_object);
}

bool IndexedRows::parse(const char *function, PyObject *const *values) {
    return ArrayPair::parse(function, values[0], values[2]) &&
           parse_index(function, values[1], "dst_index", &dst_indices) &&
           parse_index(function, values[3], "src_index", &src_indices) &&
           (!is_given(values[4]) || parse_int32(function, "axis", values[4], &axis));
}

bool IndexedRows::parse_options(const char *function, PyObject *const *values) {
    converts_ = std::any_of(values, values + 6, is_given);
    return options_.parse(function, values);
}

PyMethodDef kCopyFunctions[] = {
    {"copyto", parsed<kCopyto, copyto>(), kKeywords,
     "copyto(dst, src, stream=None, *, casting=None)\n--\n\n"
     "Copies src into dst as numpy.copyto does: broadcasts src to the shape of dst, and accepts a number.\n\n"
     "Both may be any object that asarray() accepts. The dtypes must be equal, unless `casting` says how src may be "
     "converted: see convert(). Returns when done; with a stream, once the copy is queued."},
    {"copy", parsed<kCopy, copy>(), kKeywords,
     "copy(dst, src, stream=None)\n--\n\n"
     "Copies between two arrays of equal shape and dtype, as via_copy does; use copyto() to broadcast.\n\n"
     "Returns when done; with a stream, once the copy is queued."},
    {"copy_submit", parsed<kCopySubmit, copy_submit>(), kKeywords,
     "copy_submit(dst, src, stream=None)\n--\n\n"
     "Starts a copy as copy() does, after the stream's work so far, and returns a Task at once."},
    {"copy_indexed", parsed<kCopyIndexed, copy_indexed>(), kKeywords,
     "copy_indexed(dst, dst_index, src, src_index, axis=0, stream=None, *, casting=None, overflow=None, "
     "byteorder=None, scale=None, offset=None, scale_axis=None)\n--\n\n"
     "Copies row src_index[k] of src to row dst_index[k] of dst, for each k, along an axis.\n\n"
     "An index is a list, a range, or an array of int32 or int64 anywhere; None is 0, 1, 2 ... Returns when done; with "
     "a stream, once the copy is queued. With `casting`, or another argument of convert(), dst may have another dtype, "
     "and rows are converted on the way."},
    {"copy_indexed_submit", parsed<kCopyIndexedSubmit, copy_indexed_submit>(), kKeywords,
     "copy_indexed_submit(dst, dst_index, src, src_index, axis=0, stream=None, *, casting=None, overflow=None, "
     "byteorder=None, scale=None, offset=None, scale_axis=None)\n--\n\n"
     "Starts a copy as copy_indexed() does, after the stream's work so far, and returns a Task at once."},
    {"fill", parsed<kFill, fill>(), kKeywords,
     "fill(dst, value, stream=None)\n--\n\n"
     "Sets every element to a number, or to the bytes of one element."},
    {"copy_explain", parsed<kExplain, copy_explain>(), kKeywords,
     "copy_explain(dst, src)\n--\n\n"
     "Returns a text that says how copy(dst, src) would be done; copies nothing."},
    {nullptr, nullptr, 0, nullptr},
};

int array_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (value == nullptr) {
        PyErr_SetString(PyExc_TypeError, "del: elements of an Array cannot be deleted; expected an assignment");
        return -1;
    }
    if (key == Py_Ellipsis) {
        return assign("Array.__setitem__", handle_of(self), value, "value", nullptr, nullptr) ? 0 : -1;
    }
    OwnedArray view(select_by_key(handle_of(self), key));
    return view && assign("Array.__setitem__", view.get(), value, "value", nullptr, nullptr) ? 0 : -1;
}

}  // namespace viapy
