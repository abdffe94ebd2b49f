// asarray(): every protocol by which an object may lend its memory, in turn.
#include "array_data.hpp"
#include "dtypes.hpp"
#include "errors.hpp"
#include "exchange.hpp"
#include "exchange_api.hpp"
#include "loan.hpp"

namespace viapy {
namespace {

Tried try_dlpack_plainly(const char *function, PyObject *object, PyObject **out_array) {
    return try_dlpack(function, object, Wish(), out_array);
}

struct Protocol {
    const char *name;
    Tried (*attempt)(const char *function, PyObject *object, PyObject **out_array);
};

// By what they can say: the ones that carry a read-only flag and a device first.
const Protocol kProtocols[] = {
    {"DLPack's exchange API", try_exchange_api},
    {"DLPack", try_dlpack_plainly},
    {"the CUDA array interface", try_cuda_array_interface},
    {"the buffer protocol", try_buffer},
    {"the array interface", try_array_interface},
    {"Arrow", try_arrow},
};

// Why each protocol that the object speaks was refused.
class Refusals {
public:
    // Takes the exception that is set; false if it is none to go on after.
    bool add(const char *protocol) {
        if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return false;
        }
        PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        Ref hold_type(type), hold_value(value), hold_traceback(traceback);
        Ref next(text_ ? PyUnicode_FromFormat("%U; %s: %S", text_.get(), protocol, value)
                       : PyUnicode_FromFormat("%s: %S", protocol, value));
        text_ = std::move(next);
        return bool(text_);
    }

    bool any() const { return bool(text_); }
    PyObject *text() const { return text_.get(); }

private:
    Ref text_;
};

Signature kAsarray = {"asarray", 2, 1, {"x", "dtype", "device", "copy"}};

bool has_dtype(PyObject *dtype, via_array *array) {
    int32_t wanted = is_given(dtype) ? parse_dtype("asarray", dtype) : via_array_dtype(array);
    if (wanted == 0 || wanted == via_array_dtype(array)) {
        return wanted != 0;
    }
    char name[kDtypeNameCapacity];
    char found[kDtypeNameCapacity];
    raise(VIA_ERROR_DTYPE, "asarray: argument 'dtype' is %s; expected %s, as x has: elements are not converted",
          dtype_text(wanted, name), dtype_text(via_array_dtype(array), found));
    return false;
}

PyObject *refuse_copy(PyObject *device, via_array *array) {
    Ref place(device_name(via_array_device_type(array), via_array_device_id(array)));
    return place ? raise(VIA_ERROR_NEEDS_COPY,
                         "asarray: argument 'copy' is False; expected True or None, since x is on %U and not on %S",
                         place.get(), device)
                 : nullptr;
}

// The array itself where dtype, device and copy ask for nothing else.
PyObject *as_asked(Ref array, PyObject *dtype, PyObject *device_given, PyObject *copy_given) {
    via_array *source = handle_of(array.get());
    const Device here = {via_array_device_type(source), via_array_device_id(source)};
    Device device = here;
    bool copy = false;
    if (!has_dtype(dtype, source) || !parse_device("asarray", device_given, &device) ||
        !parse_bool(copy_given, false, &copy)) {
        return nullptr;
    }
    bool stays = device.type == here.type && device.id == here.id;
    if (stays && !copy) {
        return array.give();
    }
    bool may_copy = copy || !is_given(copy_given);
    return may_copy ? copy_to("asarray", source, device) : refuse_copy(device_given, source);
}

PyObject *refuse(const char *function, const char *argument, PyObject *object, const Refusals &refusals) {
    Ref hold;
    if (refusals.any()) {
        return raise(VIA_ERROR_EXCHANGE, "%s: argument '%s': found %s, whose memory could not be taken: %U", function,
                     argument, type_name(object, &hold), refusals.text());
    }
    return raise_type(function, argument, object,
                      "an object that lends its memory by DLPack, the CUDA array interface, the buffer protocol, the "
                      "array interface or Arrow");
}

}  // namespace

PyObject *as_array(const char *function, PyObject *object, const char *argument) {
    if (is_array(object)) {
        Py_INCREF(object);
        return object;
    }
    if (!hides_nothing(function, object)) {
        return nullptr;
    }
    Refusals refusals;
    for (const Protocol &protocol : kProtocols) {
        PyObject *array = nullptr;
        Tried tried = protocol.attempt(function, object, &array);
        if (tried == Tried::Done) {
            return array;
        }
        if (tried == Tried::Failed && !refusals.add(protocol.name)) {
            return nullptr;
        }
    }
    return refuse(function, argument, object, refusals);
}

PyObject *asarray(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    drain();
    if (nargs == 1 && kwnames == nullptr) {
        return as_array("asarray", args[0]);
    }
    PyObject *values[4] = {};
    if (!parse_arguments(kAsarray, args, nargs, kwnames, values)) {
        return nullptr;
    }
    Ref array(as_array("asarray", values[0]));
    return array ? as_asked(std::move(array), values[1], values[2], values[3]) : nullptr;
}

}  // namespace viapy
