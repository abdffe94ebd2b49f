// wrap(): an array on memory that is known by its address, or at once an object of another library on it.
#include "dtypes.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "loan.hpp"
#include "wrap_bound.hpp"

namespace viapy {
namespace {

Signature kWrap = {
    "wrap",
    3,
    3,
    {"ptr", "shape", "dtype", "strides", "device", "owner", "release", "readonly", "check", "nbytes", "to"}};

struct Request {
    PyObject *values[11] = {};
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

// ctypes and cffi pointers, and objects with `ptr` or `data_ptr`, in viaduct._interop.
bool read_object(const char *function, PyObject *object, void **out) {
    Ref module(PyImport_ImportModule("viaduct._interop"));
    Ref number(module ? PyObject_CallMethod(module.get(), "address_of", "(O)", object) : nullptr);
    if (!number) {
        return false;
    }
    if (number.get() == Py_None) {
        raise_type(function, "ptr", object,
                   "an address: an integer, a pointer of ctypes or cffi, or an object with `ptr` or `data_ptr`; an "
                   "array is taken by asarray()");
        return false;
    }
    return parse_number_address(function, "ptr", number.get(), out);
}

// An object that tells its address may well be what keeps the memory, so it is the owner unless another is named.
bool read_pointer(PyObject *ptr, Request *request) {
    if (!PyLong_CheckExact(ptr) && ptr != Py_None) {
        request->owner = request->owner != nullptr ? request->owner : ptr;
    }
    return parse_address("wrap", ptr, &request->address);
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
        raise(VIA_ERROR_SHAPE, "wrap: strides has %d entries; expected one for each of %d axes",
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
    bool check = true;
    if (!parse_bool(request->values[7], false, &read_only) || !parse_bool(request->values[8], true, &check)) {
        return false;
    }
    request->flags |= (read_only ? VIA_WRAP_READ_ONLY : 0) | (check ? VIA_WRAP_PROBE : VIA_WRAP_UNCHECKED);
    return true;
}

bool read_request(Request *request) {
    PyObject **values = request->values;
    request->owner = is_given(values[5]) ? values[5] : nullptr;
    return read_pointer(values[0], request) && parse_extents("wrap", "shape", values[1], &request->shape) &&
           (request->dtype = parse_dtype("wrap", values[2])) != 0 && read_strides(values[3], request) &&
           parse_device("wrap", values[4], &request->device) && read_release(values[6], request) && read_flags(request);
}

// NULL with an exception set on failure; then nothing is called that was to end the loan.
via_array *wrap_lent(const Request &request, Loan *loan) {
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
    }
    return array;
}

via_array *make(const Request &request) {
    if (request.owner == nullptr && request.release == nullptr) {
        return wrap_lent(request, nullptr);
    }
    Loan *loan = new_loan(request.owner, request.release);
    return loan != nullptr ? wrap_lent(request, loan) : nullptr;
}

}  // namespace

bool parse_address(const char *function, PyObject *pointer, void **out) {
    *out = nullptr;
    if (PyLong_CheckExact(pointer)) {
        return parse_number_address(function, "ptr", pointer, out);
    }
    return pointer == Py_None || read_object(function, pointer, out);
}

PyObject *wrap(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    Request request;
    drain();
    if (!parse_arguments(kWrap, args, nargs, kwnames, request.values) || !read_request(&request) ||
        !stays_within(request.values[9], request.shape, request.has_strides ? &request.strides : nullptr,
                      request.dtype)) {
        return nullptr;
    }
    Handle array(make(request));
    if (array && is_given(request.values[10])) {
        return give("wrap: argument 'to'", array.get(), request.values[10], true);
    }
    return array ? new_array(array.give(), Origin::Wrapped) : nullptr;
}

}  // namespace viapy
