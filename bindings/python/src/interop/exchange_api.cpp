#include "interop/exchange_api.hpp"

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

// Matches numpy.ma's arrays, and other subclasses of NumPy's with a mask.
bool has_mask(PyObject *type, PyObject *numpy_array) {
    bool is_derived =
        numpy_array != nullptr && type != numpy_array && PyType_Check(numpy_array) &&
        PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(type), reinterpret_cast<PyTypeObject *>(numpy_array)) != 0;
    return is_derived && PyObject_HasAttrString(type, "mask") != 0;
}

bool has_lazy_views(PyObject *type) {
    return PyObject_HasAttrString(type, "is_neg") != 0 && PyObject_HasAttrString(type, "is_conj") != 0;
}

bool is_tensorflow(PyObject *type) { return PyObject_HasAttrString(type, "backing_device") != 0; }

// Matches arrays of JAX, TensorFlow and Arrow.
bool is_immutable(PyObject *type) {
    return PyObject_HasAttrString(type, "block_until_ready") != 0 || is_tensorflow(type) ||
           PyObject_HasAttrString(type, "__arrow_c_array__") != 0;
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

// Matches tensors of TensorFlow whose elements are objects of its own.
bool holds_references(PyObject *object) {
    Ref dtype(PyObject_GetAttrString(object, "dtype"));
    Ref name(dtype ? PyObject_GetAttrString(dtype.get(), "name") : nullptr);
    PyErr_Clear();
    if (!name || !PyUnicode_Check(name.get())) {
        return false;
    }
    for (const char *each : {"string", "resource", "variant"}) {
        if (PyUnicode_CompareWithASCIIString(name.get(), each) == 0) {
            return true;
        }
    }
    return false;
}

// A slot owns its type, so that no other type can have its address.
KnownType g_known_types[64] = {};

KnownType &slot_of(PyObject *type) { return g_known_types[(reinterpret_cast<uintptr_t>(type) >> 5) % 64]; }

}  // namespace

Ref loaded(const char *module, const char *name) {
    Ref found = Ref::share(PyDict_GetItemString(PyImport_GetModuleDict(), module));
    Ref value(found ? PyObject_GetAttrString(found.get(), name) : nullptr);
    PyErr_Clear();
    return value;
}

// Returns by value, since querying a type may run Python code that calls this again.
KnownType known_type(PyObject *type) {
    KnownType &known = slot_of(type);
    if (known.type == type) {
        return known;
    }
    return look_at(type);
}

KnownType look_at(PyObject *type) {
    Ref numpy = loaded("numpy", "ndarray");
    KnownType found = {type,
                       find_api(type),
                       numpy && numpy.get() == type,
                       false,
                       has_lazy_views(type),
                       has_mask(type, numpy.get()),
                       is_immutable(type),
                       is_tensorflow(type)};
    Py_INCREF(type);
    KnownType &known = slot_of(type);
    Ref forgotten(known.type);
    known = found;
    return found;
}

void mark_prepared(PyObject *type) {
    KnownType &known = slot_of(type);
    known.is_prepared = known.is_prepared || known.type == type;
}

bool is_exportable(const char *function, PyObject *object, bool may_be_complex) {
    static PyObject *const is_neg = PyUnicode_InternFromString("is_neg");
    static PyObject *const is_conj = PyUnicode_InternFromString("is_conj");
    const KnownType known = known_type(type_of(object));
    if (known.is_tensorflow && holds_references(object)) {
        raise_buffer(VIA_ERROR_EXCHANGE, "%s: x is a tensor of texts, resources or variants; expected numbers",
                     function);
        return false;
    }
    if (!known.has_lazy_views) {
        return true;
    }
    if (answers_true(object, is_neg) || (may_be_complex && answers_true(object, is_conj))) {
        raise_buffer(VIA_ERROR_EXCHANGE,
                     "%s: x is a lazily negated or conjugated view; expected its resolve_neg().resolve_conj()",
                     function);
        return false;
    }
    if (requires_gradient(object)) {
        raise_buffer(VIA_ERROR_EXCHANGE, "%s: x is a tensor that requires a gradient; expected its detach()", function);
        return false;
    }
    return true;
}

bool has_no_mask(const char *function, PyObject *object) {
    if (!known_type(type_of(object)).has_mask) {
        return true;
    }
    const Ref answer = call_interop("hides_elements", object);
    if (answer.get() == Py_True) {
        raise(VIA_ERROR_EXCHANGE,
              "%s: x is a masked array with hidden elements; expected its filled(), or its data to ignore the mask",
              function);
    }
    return answer.get() == Py_False;
}

bool WorkStream::ask(const DLPackExchangeAPI *api, const DLDevice &device) {
    void *native = nullptr;
    if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost || api->current_work_stream == nullptr) {
        return true;
    }
    if (api->current_work_stream(device.device_type, device.device_id, &native) != 0) {
        return false;
    }
    return ok_or_raise(via_stream_wrap(native, -1, stream_.out()));
}

}  // namespace viapy
