#include "exchange_api.hpp"

#include "errors.hpp"

namespace viapy {
namespace {

const DLPackExchangeAPI *readable_api(PyObject *capsule) {
    void *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    auto *header = static_cast<DLPackExchangeAPIHeader *>(found);
    while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) {
        header = header->prev_api;
    }
    return reinterpret_cast<const DLPackExchangeAPI *>(header);
}

const DLPackExchangeAPI *find_api(PyObject *type) {
    bool failed = false;
    Ref capsule(optional_attribute(type, "__dlpack_c_exchange_api__", &failed));
    PyErr_Clear();
    return capsule && PyCapsule_CheckExact(capsule.get()) ? readable_api(capsule.get()) : nullptr;
}

bool is_numpy_type(PyObject *type) {
    PyObject *numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    Ref array(numpy != nullptr ? PyObject_GetAttrString(numpy, "ndarray") : nullptr);
    PyErr_Clear();
    return array && array.get() == type;
}

bool has_lazy_views(PyObject *type) {
    return PyObject_HasAttrString(type, "is_neg") != 0 && PyObject_HasAttrString(type, "is_conj") != 0;
}

bool answers_true(PyObject *object, PyObject *question) {
    Ref answer(PyObject_CallMethodObjArgs(object, question, nullptr));
    PyErr_Clear();
    return answer.get() == Py_True;
}

bool requires_gradient(PyObject *object) {
    static PyObject *const name = PyUnicode_InternFromString("requires_grad");
    Ref value(PyObject_GetAttr(object, name));
    PyErr_Clear();
    return value.get() == Py_True;
}

// A slot holds its type, so that no other type can be taken for it.
KnownType g_known_types[64] = {};

}  // namespace

KnownType &known_type(PyObject *type) {
    KnownType &known = g_known_types[(reinterpret_cast<uintptr_t>(type) >> 5) % 64];
    if (known.type != type) {
        KnownType found = {type, find_api(type), is_numpy_type(type), false, has_lazy_views(type)};
        Ref forgotten(known.type);
        Py_INCREF(type);
        known = found;
    }
    return known;
}

bool is_lendable(const char *function, PyObject *object, bool may_be_complex) {
    static PyObject *const is_neg = PyUnicode_InternFromString("is_neg");
    static PyObject *const is_conj = PyUnicode_InternFromString("is_conj");
    if (!known_type(type_of(object)).has_lazy_views) {
        return true;
    }
    if (answers_true(object, is_neg) || (may_be_complex && answers_true(object, is_conj))) {
        raise_buffer(VIA_ERROR_EXCHANGE,
                     "%s: argument 'x': found a view whose numbers are still to be negated or conjugated; give its "
                     "resolve_neg().resolve_conj()",
                     function);
        return false;
    }
    if (requires_gradient(object)) {
        raise_buffer(VIA_ERROR_EXCHANGE, "%s: argument 'x': found a tensor that requires a gradient; give its detach()",
                     function);
        return false;
    }
    return true;
}

bool WorkStream::ask(const DLPackExchangeAPI *api, const DLDevice &device) {
    void *native = nullptr;
    if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost || api->current_work_stream == nullptr) {
        return true;
    }
    if (api->current_work_stream(device.device_type, device.device_id, &native) != 0) {
        return false;
    }
    via_status status = via_stream_wrap(native, -1, &stream_);
    return status == VIA_OK || (raise_status(status), false);
}

}  // namespace viapy
