#include "array/array_methods.hpp"

#include "array/array_copy.hpp"
#include "objects/stream_argument.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

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
        !stream.parse_or_current(signature.function, given, via_array_device_id(array))) {
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

// Calls a helper written in Python, imported at first use: it needs NumPy, or is not performance-critical.
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

// NumPy calls this only for types without a buffer format: those that ml_dtypes adds.
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

}  // namespace

PyMethodDef kDataMethods[] = {
    {"copy", method(copy_method), METH_FASTCALL | METH_KEYWORDS,
     "copy($self, device=None)\n--\n\n"
     "Returns a new row-major array with the same elements, on `device` if it is given."},
    {"fill", fill_method, METH_O,
     "fill($self, value, /)\n--\n\n"
     "Sets every element to a number, or to the bytes of one element (for records and every other type)."},
    {"record_stream", method(record_stream_method), METH_FASTCALL | METH_KEYWORDS,
     "record_stream($self, stream=None)\n--\n\n"
     "Records that the stream's work so far uses the memory, which is released only after that work.\n\n"
     "Uses the current stream if none is given."},
    {"set_ready", method(set_ready_method), METH_FASTCALL | METH_KEYWORDS,
     "set_ready($self, stream=None)\n--\n\n"
     "Records that the stream's work so far writes the content; reads and exports wait for it.\n\n"
     "Uses the current stream if none is given."},
    {"synchronize", synchronize_method, METH_NOARGS,
     "synchronize($self)\n--\n\n"
     "Waits until the content is ready, so that the host may read pinned or managed memory."},
    {"item", item_method, METH_NOARGS,
     "item($self)\n--\n\n"
     "Returns the only element as a Python value."},
    {"tolist", tolist_method, METH_NOARGS,
     "tolist($self)\n--\n\n"
     "Returns the elements as nested lists of Python values."},
    {"numpy", numpy_method, METH_NOARGS,
     "numpy($self)\n--\n\n"
     "Returns a numpy.ndarray on the same memory.\n\n"
     "Uses NumPy's own types, ml_dtypes' for bfloat16 and float8, and void for records."},
    {"__reduce_ex__", reduce_ex_method, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"
     "Pickles host memory as an out-of-band buffer with protocol 5, and device memory through the host."},
    {"__array__", method(array_protocol), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "Serves numpy.asarray where the buffer protocol has no format."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
