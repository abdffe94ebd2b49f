// What reads or writes elements: copies, fills, assignment, and the way to Python's own values.
#include "array_data.hpp"

#include "array.hpp"
#include "dtypes.hpp"
#include "element.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "gil.hpp"
#include "loan.hpp"
#include "order.hpp"

namespace viapy {
namespace {

// Whatever a device has a part in may wait for it, and what runs on a device may wait for the GIL.
bool worth_unlocking(via_array *array) {
    return via_array_nbytes(array) >= kBytesWorthUnlocking || via_array_device_type(array) != VIA_DEVICE_CPU;
}

bool worth_unlocking(via_array *dst, via_array *src) {
    return worth_unlocking(dst) || via_array_device_type(src) != VIA_DEVICE_CPU;
}

via_status copy_elements(via_array *dst, via_array *src, via_stream *stream) {
    return without_gil(worth_unlocking(dst, src),
                       [=] { return stream != nullptr ? via_copy_async(dst, src, stream) : via_copy(dst, src); });
}

bool is_one_element(via_array *array, PyObject *value) {
    bool is_number = PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value);
    return is_number || (PyBytes_Check(value) && via_array_dtype(array) < 0);
}

// A scalar of another library may be of another type than the array: then its value counts.
bool is_foreign_scalar(via_array *array, PyObject *source) {
    return via_array_ndim(handle_of(source)) == 0 && via_array_dtype(handle_of(source)) != via_array_dtype(array);
}

bool assign_array(via_array *array, PyObject *source, via_stream *stream) {
    Handle repeated;
    via_array *wide = nullptr;
    via_status status = via_array_broadcast(handle_of(source), via_array_ndim(array), via_array_shape(array), &wide);
    repeated.reset(wide);
    if (status == VIA_OK) {
        status = copy_elements(array, wide, stream);
    }
    return status == VIA_OK || (raise_status(status), false);
}

// What dst[...] = value does, on a stream if there is one.
bool assign(const char *function, via_array *array, PyObject *value, const char *argument, via_stream *stream) {
    if (is_one_element(array, value)) {
        return fill_array(function, array, value, stream);
    }
    Ref source(as_array(function, value, argument));
    if (!source) {
        return false;
    }
    return !is_array(value) && is_foreign_scalar(array, source.get()) ? fill_array(function, array, value, stream)
                                                                      : assign_array(array, source.get(), stream);
}

Signature kCopyMethod = {"Array.copy", 1, 0, {"device"}};

PyObject *copy_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *place = nullptr;
    Device device;
    if (!parse_arguments(kCopyMethod, args, nargs, kwnames, &place)) {
        return nullptr;
    }
    via_array *source = handle_of(self);
    device = {via_array_device_type(source), via_array_device_id(source)};
    return parse_device("Array.copy", place, &device) ? copy_to("Array.copy", source, device) : nullptr;
}

PyObject *fill_method(PyObject *self, PyObject *value) {
    return fill_array("Array.fill", handle_of(self), value, nullptr) ? none() : nullptr;
}

Signature kRecordStream = {"Array.record_stream", 1, 0, {"stream"}};
Signature kSetReady = {"Array.set_ready", 1, 0, {"stream"}};

PyObject *mark(PyObject *self, Signature &signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
               via_status (*call)(via_array *, via_stream *)) {
    PyObject *given = nullptr;
    StreamArgument stream;
    via_array *array = handle_of(self);
    if (!parse_arguments(signature, args, nargs, kwnames, &given) ||
        !stream.parse_or_current(signature.function, given, device_of(array))) {
        return nullptr;
    }
    return none_or_raise(call(array, stream.get()));
}

PyObject *record_stream_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return mark(self, kRecordStream, args, nargs, kwnames, via_array_record_stream);
}

PyObject *set_ready_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return mark(self, kSetReady, args, nargs, kwnames, via_array_set_ready);
}

PyObject *synchronize_method(PyObject *self, PyObject *) {
    return wait_until_ready(handle_of(self)) ? none() : nullptr;
}

// Written in Python, and imported when first needed: they need NumPy, or loops where speed is no matter.
PyObject *call_helper(const char *name, PyObject *self) {
    Ref module(PyImport_ImportModule("viaduct._interop"));
    return module ? PyObject_CallMethod(module.get(), name, "O", self) : nullptr;
}

PyObject *numpy_method(PyObject *self, PyObject *) { return call_helper("to_numpy", self); }
PyObject *tolist_method(PyObject *self, PyObject *) { return call_helper("to_list", self); }
PyObject *item_method(PyObject *self, PyObject *) { return call_helper("to_scalar", self); }

PyObject *reduce_ex_method(PyObject *self, PyObject *protocol) {
    Ref module(PyImport_ImportModule("viaduct._pickle"));
    return module ? PyObject_CallMethod(module.get(), "reduce", "OO", self, protocol) : nullptr;
}

Signature kArrayProtocol = {"Array.__array__", 2, 0, {"dtype", "copy"}};

// NumPy comes here only for what it cannot take by the buffer protocol: types that ml_dtypes adds.
PyObject *array_protocol(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[2] = {};
    if (!parse_arguments(kArrayProtocol, args, nargs, kwnames, values)) {
        return nullptr;
    }
    Ref module(PyImport_ImportModule("viaduct._interop"));
    PyObject *dtype = is_given(values[0]) ? values[0] : Py_None;
    PyObject *copy = is_given(values[1]) ? values[1] : Py_None;
    return module ? PyObject_CallMethod(module.get(), "array_protocol", "OOO", self, dtype, copy) : nullptr;
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

}  // namespace

bool fill_array(const char *function, via_array *array, PyObject *value, via_stream *stream) {
    Element element;
    if (!element.encode(function, value, via_array_dtype(array))) {
        return false;
    }
    const void *bytes = element.bytes();
    via_status status = without_gil(worth_unlocking(array), [=] { return via_fill(array, bytes, stream); });
    return status == VIA_OK || (raise_status(status), false);
}

PyObject *copy_to(const char *function, via_array *source, const Device &device) {
    MemoryHandle memory;
    if (!memory.of_device(function, device)) {
        return nullptr;
    }
    via_array *made = nullptr;
    via_status status = via_empty(memory.get(), via_array_dtype(source), via_array_ndim(source),
                                  via_array_shape(source), nullptr, &made);
    Ref result(new_array_or_raise(status, made, Origin::Allocated));
    if (!result) {
        return nullptr;
    }
    status = copy_elements(made, source, nullptr);
    return status == VIA_OK ? result.give() : raise_status(status);
}

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

PyObject *copy(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[3] = {};
    Pair pair;
    StreamArgument stream;
    drain();
    if (!parse_arguments(kCopy, args, nargs, kwnames, values) || !pair.parse("copy", values) ||
        !stream.parse("copy", values[2])) {
        return nullptr;
    }
    return none_or_raise(copy_elements(handle_of(pair.dst.get()), handle_of(pair.src.get()), stream.get()));
}

PyObject *copyto(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[3] = {};
    StreamArgument stream;
    drain();
    if (!parse_arguments(kCopyto, args, nargs, kwnames, values) || !stream.parse("copyto", values[2])) {
        return nullptr;
    }
    Ref dst(as_array("copyto", values[0], "dst"));
    return dst && assign("copyto", handle_of(dst.get()), values[1], "src", stream.get()) ? none() : nullptr;
}

PyObject *copy_submit(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[3] = {};
    Pair pair;
    StreamArgument stream;
    drain();
    if (!parse_arguments(kCopySubmit, args, nargs, kwnames, values) || !pair.parse("copy_submit", values) ||
        !stream.parse("copy_submit", values[2])) {
        return nullptr;
    }
    via_task *task = nullptr;
    via_array *dst = handle_of(pair.dst.get());
    via_array *src = handle_of(pair.src.get());
    via_stream *after = stream.get();
    via_status status = without_gil(worth_unlocking(dst, src), [&] { return via_copy_submit(dst, src, after, &task); });
    return new_task_or_raise(status, task);
}

PyObject *fill(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[3] = {};
    StreamArgument stream;
    if (!parse_arguments(kFill, args, nargs, kwnames, values) || !stream.parse("fill", values[2])) {
        return nullptr;
    }
    Ref dst(as_array("fill", values[0], "dst"));
    return dst && fill_array("fill", handle_of(dst.get()), values[1], stream.get()) ? none() : nullptr;
}

PyObject *copy_explain(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[2] = {};
    Pair pair;
    if (!parse_arguments(kExplain, args, nargs, kwnames, values) || !pair.parse("copy_explain", values)) {
        return nullptr;
    }
    char text[4096];
    int64_t length = 0;
    via_status status =
        via_copy_explain(handle_of(pair.dst.get()), handle_of(pair.src.get()), sizeof text, text, &length);
    return status == VIA_OK ? PyUnicode_FromString(text) : raise_status(status);
}

PyMethodDef kDataMethods[] = {
    {"copy", method(copy_method), METH_FASTCALL | METH_KEYWORDS,
     "copy($self, device=None)\n--\n\nA new row-major array with the same elements, on a device if one is named."},
    {"fill", fill_method, METH_O,
     "fill($self, value, /)\n--\n\n"
     "Sets every element: to a number, or to the bytes of one element (for records and any other type)."},
    {"record_stream", method(record_stream_method), METH_FASTCALL | METH_KEYWORDS,
     "record_stream($self, stream=None)\n--\n\n"
     "The memory is used by a stream's work so far: it is let go only after that.\n\n"
     "By the current stream's if none is given."},
    {"set_ready", method(set_ready_method), METH_FASTCALL | METH_KEYWORDS,
     "set_ready($self, stream=None)\n--\n\n"
     "The content is written by a stream's work so far: reads and exports wait for that.\n\n"
     "By the current stream's if none is given."},
    {"synchronize", synchronize_method, METH_NOARGS,
     "synchronize($self)\n--\n\nWaits until the content is ready, so that the host may read pinned or managed memory."},
    {"item", item_method, METH_NOARGS, "item($self)\n--\n\nThe one element as a Python value."},
    {"tolist", tolist_method, METH_NOARGS, "tolist($self)\n--\n\nThe elements as nested lists of Python values."},
    {"numpy", numpy_method, METH_NOARGS,
     "numpy($self)\n--\n\n"
     "A numpy.ndarray on the same memory.\n\n"
     "Of NumPy's own types, of ml_dtypes' for bfloat16 and float8, of void for records."},
    {"__reduce_ex__", reduce_ex_method, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"
     "For pickle: host memory as an out-of-band buffer with protocol 5, device memory through the host."},
    {"__array__", method(array_protocol), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\nFor numpy.asarray, where the buffer protocol has no format."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
