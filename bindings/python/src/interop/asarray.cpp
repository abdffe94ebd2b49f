#include "interop/asarray.hpp"

#include "array/array_convert.hpp"
#include "array/array_copy.hpp"
#include "interop/arrow.hpp"
#include "interop/buffer.hpp"
#include "interop/dlpack_import.hpp"
#include "interop/exchange_api.hpp"
#include "interop/interface_import.hpp"
#include "support/deferred.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

Outcome try_dlpack_plainly(const char *function, PyObject *object, PyObject **out_array) {
    return try_dlpack(function, object, ImportOptions(), out_array);
}

struct Protocol {
    const char *name;
    Outcome (*attempt)(const char *function, PyObject *object, PyObject **out_array);
};

// Ordered by expressiveness: protocols with a read-only flag and a device come first.
const Protocol kProtocols[] = {
    {"DLPack's exchange API", try_exchange_api},
    {"DLPack", try_dlpack_plainly},
    {"the CUDA array interface", try_cuda_array_interface},
    {"the buffer protocol", try_buffer},
    {"the array interface", try_array_interface},
    {"Arrow", try_arrow},
};

// Collects the reason for which each protocol was refused.
class Refusals {
public:
    // Consumes the exception that is set. False if it must propagate.
    bool add(const char *protocol) {
        if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return false;
        }
        const Ref reason = take_exception();
        Ref words(PyObject_Str(reason.get()));
        if (!words) {
            PyErr_Clear();
            words = Ref::share(type_of(reason.get()));
        }
        text_ = Ref(text_ ? PyUnicode_FromFormat("%U; %s: %S", text_.get(), protocol, words.get())
                          : PyUnicode_FromFormat("%s: %S", protocol, words.get()));
        return bool(text_);
    }

    bool any() const { return bool(text_); }
    PyObject *text() const { return text_.get(); }

private:
    Ref text_;
};

Signature kAsarray = {"asarray", 2, 1, {"x", "dtype", "device", "copy"}};

PyObject *refuse_conversion(int32_t wanted, via_array *array) {
    char name[kDtypeNameCapacity];
    char found[kDtypeNameCapacity];
    return raise(VIA_ERROR_NEEDS_COPY, "asarray: dtype is %s, and copy is False; expected %s, the dtype of x",
                 dtype_text(wanted, name), dtype_text(via_array_dtype(array), found));
}

PyObject *refuse_copy(PyObject *device, via_array *array) {
    Ref place(device_name(via_array_device_type(array), via_array_device_id(array)));
    return place ? raise(VIA_ERROR_NEEDS_COPY,
                         "asarray: copy is False; expected True or None, since x is on %U and not on %S", place.get(),
                         device)
                 : nullptr;
}

// Returns the array itself if dtype, device and copy require nothing else.
PyObject *as_asked(Ref array, PyObject *dtype, PyObject *device_given, PyObject *copy_given) {
    via_array *source = handle_of(array.get());
    const Device here = {via_array_device_type(source), via_array_device_id(source)};
    Device device = here;
    bool copy = false;
    const int32_t wanted = is_given(dtype) ? parse_dtype("asarray", dtype) : via_array_dtype(source);
    if (wanted == 0 || !parse_device("asarray", device_given, &device) || !parse_bool(copy_given, false, &copy)) {
        return nullptr;
    }
    const bool may_copy = copy || !is_given(copy_given);
    if (wanted != via_array_dtype(source)) {
        const via_convert_options options = VIA_CONVERT_OPTIONS_INIT;
        return may_copy ? convert_to("asarray", source, wanted, device, options) : refuse_conversion(wanted, source);
    }
    bool stays = device.type == here.type && device.id == here.id;
    if (stays && !copy) {
        return array.release();
    }
    return may_copy ? copy_to("asarray", source, device) : refuse_copy(device_given, source);
}

PyObject *refuse(const char *function, const char *argument, PyObject *object, const Refusals &refusals) {
    Ref hold;
    if (refusals.any()) {
        return raise(VIA_ERROR_EXCHANGE, "%s: %s is of type %s, whose memory could not be imported: %U", function,
                     argument, type_name(object, &hold), refusals.text());
    }
    return raise_type(function, argument, object,
                      "an object that exports its memory by DLPack, the CUDA array interface, the buffer protocol, the "
                      "array interface or Arrow");
}

}  // namespace

PyObject *as_array(const char *function, PyObject *object, const char *argument) {
    if (is_array(object)) {
        Py_INCREF(object);
        return object;
    }
    if (!has_no_mask(function, object)) {
        return nullptr;
    }
    Refusals refusals;
    for (const Protocol &protocol : kProtocols) {
        PyObject *array = nullptr;
        Outcome outcome = protocol.attempt(function, object, &array);
        if (outcome == Outcome::Imported) {
            return array;
        }
        if (outcome == Outcome::Failed && !refusals.add(protocol.name)) {
            return nullptr;
        }
    }
    return refuse(function, argument, object, refusals);
}

namespace {

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

}  // namespace

PyMethodDef kAsarrayFunctions[] = {
    {"asarray", method(asarray), kKeywords,
     "asarray(x, /, dtype=None, *, device=None, copy=None)\n--\n\n"
     "Returns an array on the memory of another library's array.\n\n"
     "Tries DLPack, the CUDA array interface, the buffer protocol, the array interface and Arrow in turn. "
     "Copies only if `copy` is True, or if `device` or `dtype` differs from that of x and `copy` is not False. "
     "Converts to `dtype` as convert() does; raises DTypeError if that is not of the same kind."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
