#include "copy.hpp"

#include "array/array_copy.hpp"
#include "array/array_index.hpp"
#include "interop/interop.hpp"
#include "objects/handles.hpp"
#include "objects/stream_argument.hpp"
#include "support/deferred.hpp"
#include "support/gil.hpp"

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

bool assign_array(const char *function, const char *argument, via_array *dst, via_array *src, via_stream *stream) {
    via_array *wide = nullptr;
    via_status status = via_array_broadcast(src, via_array_ndim(dst), via_array_shape(dst), &wide);
    const Handle owned(wide);
    if (status == VIA_ERROR_SHAPE) {
        return refuse_shapes(function, argument, dst, src);
    }
    if (status == VIA_OK) {
        status = copy_elements(dst, wide, stream);
    }
    return status == VIA_OK || (raise_status(status), false);
}

// Implements dst[...] = value, on a stream if one is given.
bool assign(const char *function, via_array *array, PyObject *value, const char *argument, via_stream *stream) {
    if (is_one_element(array, value)) {
        return fill_array(function, array, value, stream);
    }
    Ref source(as_array(function, value, argument));
    if (!source) {
        return false;
    }
    if (!is_array(value) && is_foreign_scalar(array, source.get())) {
        return fill_array(function, array, value, stream);
    }
    return assign_array(function, argument, array, handle_of(source.get()), stream);
}

Signature kCopy = {"copy", 3, 2, {"dst", "src", "stream"}};
Signature kCopyto = {"copyto", 3, 2, {"dst", "src", "stream"}};
Signature kCopySubmit = {"copy_submit", 3, 2, {"dst", "src", "stream"}};
Signature kFill = {"fill", 3, 2, {"dst", "value", "stream"}};
Signature kExplain = {"copy_explain", 2, 2, {"dst", "src"}};

struct Pair {
    Ref dst;
    Ref src;
    bool parse(const char *function, PyObject *const *values) {
        dst = Ref(as_array(function, values[0], "dst"));
        src = dst ? Ref(as_array(function, values[1], "src")) : Ref();
        return bool(src);
    }
};

PyObject *copy(PyObject *, PyObject *(&values)[3]) {
    Pair pair;
    StreamArgument stream;
    drain();
    if (!pair.parse("copy", values) || !stream.parse("copy", values[2])) {
        return nullptr;
    }
    return none_or_raise(copy_elements(handle_of(pair.dst.get()), handle_of(pair.src.get()), stream.get()));
}

PyObject *copyto(PyObject *, PyObject *(&values)[3]) {
    StreamArgument stream;
    drain();
    if (!stream.parse("copyto", values[2])) {
        return nullptr;
    }
    Ref dst(as_array("copyto", values[0], "dst"));
    return dst && assign("copyto", handle_of(dst.get()), values[1], "src", stream.get()) ? none() : nullptr;
}

PyObject *copy_submit(PyObject *, PyObject *(&values)[3]) {
    Pair pair;
    StreamArgument stream;
    drain();
    if (!pair.parse("copy_submit", values) || !stream.parse("copy_submit", values[2])) {
        return nullptr;
    }
    via_task *task = nullptr;
    via_array *dst = handle_of(pair.dst.get());
    via_array *src = handle_of(pair.src.get());
    via_stream *after = stream.get();
    via_status status = without_gil(worth_unlocking(dst, src), [&] { return via_copy_submit(dst, src, after, &task); });
    return handle_or_raise(HandleKind::Task, status, task);
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
    Pair pair;
    if (!pair.parse("copy_explain", values)) {
        return nullptr;
    }
    char text[4096];
    int64_t length = 0;
    via_status status =
        via_copy_explain(handle_of(pair.dst.get()), handle_of(pair.src.get()), sizeof text, text, &length);
    return status == VIA_OK ? PyUnicode_FromString(text) : raise_status(status);
}

}  // namespace

PyMethodDef kCopyFunctions[] = {
    {"copyto", parsed<kCopyto, copyto>(), kKeywords,
     "copyto(dst, src, stream=None)\n--\n\n"
     "Copies src into dst as numpy.copyto does: broadcasts src to the shape of dst, and accepts a number.\n\n"
     "Both may be any object that asarray() accepts. The dtypes must be equal. Returns when done; with a "
     "stream, once the copy is queued."},
    {"copy", parsed<kCopy, copy>(), kKeywords,
     "copy(dst, src, stream=None)\n--\n\n"
     "Copies between two arrays of equal shape and dtype, as via_copy does; use copyto() to broadcast.\n\n"
     "Returns when done; with a stream, once the copy is queued."},
    {"copy_submit", parsed<kCopySubmit, copy_submit>(), kKeywords,
     "copy_submit(dst, src, stream=None)\n--\n\n"
     "Starts a copy as copy() does, after the stream's work so far, and returns a Task at once."},
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
        PyErr_SetString(PyExc_TypeError, "elements of an Array cannot be deleted");
        return -1;
    }
    if (key == Py_Ellipsis) {
        return assign("Array.__setitem__", handle_of(self), value, "value", nullptr) ? 0 : -1;
    }
    Handle view(select_by_key(handle_of(self), key));
    return view && assign("Array.__setitem__", view.get(), value, "value", nullptr) ? 0 : -1;
}

}  // namespace viapy
