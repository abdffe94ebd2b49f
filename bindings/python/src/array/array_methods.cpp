#include "array/array_methods.hpp"

#include "array/array_convert.hpp"
#include "array/array_copy.hpp"
#include "objects/stream_argument.hpp"
#include "support/dtypes.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

Signature kCopyMethod = {"Array.copy", 1, 0, {"device"}};

PyObject *copy_method(PyObject *self, PyObject *(&values)[1]) {
    Device device;
    via_array *source = handle_of(self);
    device = {via_array_device_type(source), via_array_device_id(source)};
    return parse_device("Array.copy", values[0], &device) ? copy_to("Array.copy", source, device) : nullptr;
}

Signature kAstype = {"Array.astype", 2, 1, {"dtype", "device", "casting", "overflow"}};

PyObject *astype_method(PyObject *self, PyObject *(&values)[4]) {
    constexpr char kFunction[] = "Array.astype";
    via_array *source = handle_of(self);
    Device device = {via_array_device_type(source), via_array_device_id(source)};
    via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
    options.casting = VIA_CASTING_UNSAFE;
    const int32_t dtype = parse_dtype(kFunction, values[0]);
    if (dtype == 0 || !parse_device(kFunction, values[1], &device) || !parse_casting(kFunction, values[2], &options) ||
        !parse_overflow(kFunction, values[3], &options)) {
        return nullptr;
    }
    return convert_to(kFunction, source, dtype, device, options);
}

PyObject *fill_method(PyObject *self, PyObject *value) {
    return fill_array("Array.fill", handle_of(self), value, nullptr) ? none() : nullptr;
}

Signature kRecordStream = {"Array.record_stream", 1, 0, {"stream"}};
Signature kSetReady = {"Array.set_ready", 1, 0, {"stream"}};

// Calls a function of the library with the array and a stream.
template <Signature &signature, auto function>
PyObject *on_stream(PyObject *self, PyObject *(&values)[1]) {
    StreamArgument stream;
    via_array *array = handle_of(self);
    return stream.parse_or_current(signature.function, values[0], via_array_device_id(array))
               ? none_or_raise(function(array, stream.get()))
               : nullptr;
}

PyObject *synchronize_method(PyObject *self, PyObject *) {
    return wait_until_ready(handle_of(self)) ? none() : nullptr;
}

// These are written in Python: they need NumPy, or are not performance-critical.
PyObject *numpy_method(PyObject *self, PyObject *) { return call_interop("to_numpy", self).release(); }
PyObject *tolist_method(PyObject *self, PyObject *) { return call_interop("to_list", self).release(); }
PyObject *item_method(PyObject *self, PyObject *) { return call_interop("to_scalar", self).release(); }

// Without it complex() asks __float__, which has no imaginary part to give.
PyObject *complex_method(PyObject *self, PyObject *) {
    Ref element(item_method(self, nullptr));
    auto *type = reinterpret_cast<PyObject *>(&PyComplex_Type);
    return element ? PyObject_CallFunctionObjArgs(type, element.get(), nullptr) : nullptr;
}

PyObject *reduce_ex_method(PyObject *self, PyObject *protocol) {
    return call_python("viaduct._pickle", "reduce", self, protocol).release();
}

Signature kArrayProtocol = {"Array.__array__", 2, 0, {"dtype", "copy"}};

// NumPy calls this only for types without a buffer format: those that ml_dtypes adds.
PyObject *array_protocol(PyObject *self, PyObject *(&values)[2]) {
    PyObject *dtype = is_given(values[0]) ? values[0] : Py_None;
    PyObject *copy = is_given(values[1]) ? values[1] : Py_None;
    return call_interop("array_protocol", self, dtype, copy).release();
}

}  // namespace

PyMethodDef kDataMethods[] = {
    {"copy", parsed<kCopyMethod, copy_method>(), kKeywords,
     "copy($self, device=None)\n--\n\n"
     "Returns a new row-major array with the same elements, on `device` if it is given."},
    {"astype", parsed<kAstype, astype_method>(), kKeywords,
     "astype($self, dtype, device=None, *, casting='unsafe', overflow='infinity')\n--\n\n"
     "Returns a new row-major array with the elements converted to `dtype`, on `device` if it is given.\n\n"
     "Moves the narrower of both dtypes between host and device. `casting` is 'equiv', 'safe', 'same_kind' or "
     "'unsafe', `overflow` 'infinity' or 'saturate': see convert()."},
    {"fill", fill_method, METH_O,
     "fill($self, value, /)\n--\n\n"
     "Sets every element to a number, or to the bytes of one element (for records and every other type)."},
    {"record_stream", parsed<kRecordStream, on_stream<kRecordStream, via_array_record_stream>>(), kKeywords,
     "record_stream($self, stream=None)\n--\n\n"
     "Records that the stream's work so far uses the memory, which is released only after that work.\n\n"
     "Uses the current stream if none is given."},
    {"set_ready", parsed<kSetReady, on_stream<kSetReady, via_array_set_ready>>(), kKeywords,
     "set_ready($self, stream=None)\n--\n\n"
     "Records that the stream's work so far writes the content; reads and exports wait for it.\n\n"
     "Uses the current stream if none is given."},
    {"synchronize", synchronize_method, METH_NOARGS,
     "synchronize($self)\n--\n\n"
     "Waits until the content is ready, so that the host may read pinned or managed memory."},
    {"item", item_method, METH_NOARGS,
     "item($self)\n--\n\n"
     "Returns the only element as a Python value."},
    {"__complex__", complex_method, METH_NOARGS,
     "__complex__($self)\n--\n\n"
     "Returns the only element as a complex number."},
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
    {"__array__", parsed<kArrayProtocol, array_protocol>(), kKeywords,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "Serves numpy.asarray where the buffer protocol has no format."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
