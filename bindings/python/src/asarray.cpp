// asarray(): every protocol by which an object may lend its memory, in turn.
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

PyObject *refuse(const char *function, PyObject *object, const Refusals &refusals) {
    Ref hold;
    if (refusals.any()) {
        return raise(VIA_ERROR_EXCHANGE, "%s: argument 'x': found %s, whose memory could not be taken: %U", function,
                     type_name(object, &hold), refusals.text());
    }
    return raise_type(function, "x", object,
                      "an object that lends its memory by DLPack, the CUDA array interface, the buffer protocol, the "
                      "array interface or Arrow");
}

}  // namespace

PyObject *as_array(const char *function, PyObject *object) {
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
    return refuse(function, object, refusals);
}

PyObject *asarray(PyObject *, PyObject *object) {
    drain();
    return as_array("asarray", object);
}

}  // namespace viapy
