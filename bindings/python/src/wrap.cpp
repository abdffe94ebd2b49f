// wrap(): an array on memory that is known by its address.
#include "dtypes.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "loan.hpp"

namespace viapy {
namespace {

Signature kWrap = {
    "wrap", 3, 3, {"ptr", "shape", "dtype", "strides", "device", "owner", "release", "readonly", "unchecked"}};

struct Request {
    PyObject *values[9] = {};
    void *address = nullptr;
    Extents shape;
    Extents strides;
    bool has_strides = false;
    int32_t dtype = 0;
    int32_t flags = 0;
    Device device;
    PyObject *owner = nullptr;  // borrowed
    PyObject *release = nullptr;
};

bool read_number(PyObject *number, void **out) {
    unsigned long long address = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        raise(VIA_ERROR_OVERFLOW, "wrap: argument 'ptr': found %R, expected an address", number);
        return false;
    }
    *out = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
    return true;
}

// ctypes and cffi pointers, and objects with `ptr` or `data_ptr`, in viaduct._interop. Such an object may well be what
// keeps the memory, so it is the owner unless another is named.
bool read_object(PyObject *object, Request *request) {
    Ref module(PyImport_ImportModule("viaduct._interop"));
    Ref number(module ? PyObject_CallMethod(module.get(), "address_of", "O", object) : nullptr);
    if (!number) {
        return false;
    }
    if (number.get() == Py_None) {
        raise_type("wrap", "ptr", object,
                   "an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`; an "
                   "array is taken by asarray()");
        return false;
    }
    request->owner = request->owner != nullptr ? request->owner : object;
    return read_number(number.get(), &request->address);
}

bool read_pointer(PyObject *ptr, Request *request) {
    if (PyLong_CheckExact(ptr)) {
        return read_number(ptr, &request->address);
    }
    return ptr == Py_None || read_object(ptr, request);
}

bool read_strides(PyObject *value, Request *request) {
    if (!is_given(value)) {
        return true;
    }
    request->has_strides = true;
    request->flags |= VIA_WRAP_BYTE_STRIDES;
    if (!parse_extents("wrap", "strides", value, &request->strides)) {
        return false;
    }
    if (request->strides.count != request->shape.count) {
        raise(VIA_ERROR_SHAPE, "wrap: argument 'strides': found %d, expected one for each of the %d axes",
              static_cast<int>(request->strides.count), static_cast<int>(request->shape.count));
        return false;
    }
    return true;
}

bool read_release(PyObject *value, Request *request) {
    if (is_given(value) && !PyCallable_Check(value)) {
        raise_type("wrap", "release", value, "a function without arguments");
        return false;
    }
    request->release = is_given(value) ? value : nullptr;
    return true;
}

// A call from Python costs more than the question whether there is memory at all, so it is asked unless told not to be.
bool read_flags(Request *request) {
    bool read_only = false;
    bool unchecked = false;
    if (!parse_bool(request->values[7], false, &read_only) || !parse_bool(request->values[8], false, &unchecked)) {
        return false;
    }
    request->flags |= (read_only ? VIA_WRAP_READ_ONLY : 0) | (unchecked ? VIA_WRAP_UNCHECKED : VIA_WRAP_PROBE);
    return true;
}

bool read_request(Request *request) {
    PyObject **values = request->values;
    request->owner = is_given(values[5]) ? values[5] : nullptr;
    request->dtype = 0;
    return read_pointer(values[0], request) && parse_extents("wrap", "shape", values[1], &request->shape) &&
           (request->dtype = parse_dtype("wrap", values[2])) != 0 && read_strides(values[3], request) &&
           parse_device("wrap", values[4], &request->device) && read_release(values[6], request) && read_flags(request);
}

PyObject *make(const Request &request, Loan *loan) {
    via_array *array = nullptr;
    via_status status = via_wrap(request.address, request.dtype, request.shape.count, request.shape.values,
                                 request.has_strides ? request.strides.values : nullptr, request.device.type,
                                 request.device.id, request.flags, loan != nullptr ? end_loan : nullptr, loan, &array);
    if (status != VIA_OK) {
        raise_status(status);
        if (loan != nullptr) {
            ErrorScope errors;
            cancel_loan(loan);
        }
        return nullptr;
    }
    return new_array(array, Origin::Wrapped);
}

}  // namespace

PyObject *wrap(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    Request request;
    drain();
    if (!parse_arguments(kWrap, args, nargs, kwnames, request.values) || !read_request(&request)) {
        return nullptr;
    }
    Loan *loan = nullptr;
    if (request.owner != nullptr || request.release != nullptr) {
        loan = new_loan(request.owner, request.release);
        if (loan == nullptr) {
            return nullptr;
        }
    }
    return make(request, loan);
}

}  // namespace viapy
