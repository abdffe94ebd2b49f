// Array.to() and wrap(to=): an object of another library's type, made by the table of C functions on the type.
#include <atomic>

#include "errors.hpp"
#include "exchange_api.hpp"
#include "gil.hpp"
#include "loan.hpp"

namespace viapy {
namespace {

// Whoever refuses a tensor has stolen it and is to delete it. PyTorch forgets to, so the deleter tells whether it ran.
using Deleter = void (*)(DLManagedTensorVersioned *);
std::atomic<Deleter> g_deleter{nullptr};  // of every tensor of the library
thread_local DLManagedTensorVersioned *t_given = nullptr;

void delete_and_tell(DLManagedTensorVersioned *tensor) {
    if (tensor == t_given) {
        t_given = nullptr;
    }
    g_deleter.load(std::memory_order_relaxed)(tensor);
}

void delete_if_left(DLManagedTensorVersioned *tensor) {
    if (tensor == t_given) {
        ErrorScope errors;
        via_dlpack_delete(tensor);
    }
}

PyObject *refused(const char *where, PyObject *kind, DLManagedTensorVersioned *tensor) {
    if (PyErr_Occurred() == nullptr) {
        raise(VIA_ERROR_EXCHANGE, "%s: the library of %S refused the memory and did not say why", where,
              shown(kind).get());
    }
    delete_if_left(tensor);
    return nullptr;
}

PyObject *hand_over(const char *where, const DLPackExchangeAPI *api, PyObject *kind, DLManagedTensorVersioned *tensor) {
    g_deleter.store(tensor->deleter, std::memory_order_relaxed);
    tensor->deleter = delete_and_tell;
    void *object = nullptr;
    DLManagedTensorVersioned *outer = std::exchange(t_given, tensor);
    bool taken = api->managed_tensor_to_py_object_no_sync(tensor, &object) == 0 && object != nullptr;
    PyObject *made = taken ? static_cast<PyObject *>(object) : refused(where, kind, tensor);
    t_given = outer;
    return made;
}

// Has a library start, once, what it starts only when it makes something on a device itself: in viaduct._interop.
bool prepare(PyObject *kind, via_array *array) {
    if (via_array_device_type(array) != VIA_DEVICE_CUDA || known_type(kind).is_prepared) {
        return true;
    }
    Ref module(PyImport_ImportModule("viaduct._interop"));
    Ref done(module ? PyObject_CallMethod(module.get(), "prepare_for_cuda", "O", kind) : nullptr);
    if (done) {
        note_prepared(kind);
    }
    return bool(done);
}

const DLPackExchangeAPI *api_of(const char *where, PyObject *kind) {
    const DLPackExchangeAPI *api = PyType_Check(kind) ? known_type(kind).api : nullptr;
    if (api == nullptr || api->managed_tensor_to_py_object_no_sync == nullptr) {
        raise(VIA_ERROR_DTYPE,
              "%s: found %S, expected a type with __dlpack_c_exchange_api__, as torch.Tensor is; where "
              "there is none, the library's from_dlpack() takes arrays",
              where, shown(kind).get());
        return nullptr;
    }
    return api;
}

// PyTorch ends the process over a negative stride (pytorch#188023).
bool would_abort(const DLPackExchangeAPI *api, via_array *array) {
    Ref tensor = goes_backwards(array) ? loaded("torch", "Tensor") : Ref();
    return tensor && known_type(tensor.get()).api == api;
}

// The tensor is ready on the stream that the library works on now; on the host, and of content that is ready anyhow,
// nothing is asked.
DLManagedTensorVersioned *tensor_for(const DLPackExchangeAPI *api, via_array *array, bool is_ready) {
    DLManagedTensorVersioned *tensor = nullptr;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.max_major = DLPACK_MAJOR_VERSION;
    options.max_minor = static_cast<int32_t>(api->header.version.minor);
    options.copy = VIA_COPY_NEVER;
    WorkStream stream;
    DLDevice device = {static_cast<DLDeviceType>(via_array_device_type(array)), via_array_device_id(array)};
    if (!is_ready && !stream.ask(api, device)) {
        if (PyErr_Occurred() == nullptr) {
            raise(VIA_ERROR_EXCHANGE, "the exchange API of the type gave no stream and did not say why");
        }
        return nullptr;
    }
    via_stream *consumer = is_ready ? via_stream_no_sync() : stream.get();
    via_status status = without_gil(!is_ready, [&] { return via_to_dlpack(array, &options, consumer, &tensor); });
    if (status != VIA_OK) {
        raise_exchange(status);
    }
    return tensor;
}

// A type that has its table from another makes objects of that one.
PyObject *checked(const char *where, PyObject *made, PyObject *kind) {
    if (made == nullptr || type_of(made) == kind) {
        return made;
    }
    Ref object(made);
    int is_one = PyObject_IsInstance(made, kind);
    if (is_one == 0) {
        raise(VIA_ERROR_DTYPE, "%s: found %S, whose __dlpack_c_exchange_api__ makes objects of %S", where,
              shown(kind).get(), shown(type_of(made)).get());
    }
    return is_one == 1 ? object.give() : nullptr;
}

PyObject *array_to(PyObject *self, PyObject *kind) {
    via_array *array = handle_of(self);
    drain();
    return give("Array.to: argument 'kind'", array, kind, via_array_is_ready(array) != 0);
}

}  // namespace

PyObject *give(const char *where, via_array *array, PyObject *kind, bool is_ready) {
    const DLPackExchangeAPI *api = api_of(where, kind);
    if (api == nullptr || !prepare(kind, array)) {
        return nullptr;
    }
    if (would_abort(api, array)) {
        return raise_buffer(VIA_ERROR_EXCHANGE,
                            "%s: the array has a negative stride, which PyTorch cannot take; give its copy(), or flip "
                            "the tensor",
                            where);
    }
    DLManagedTensorVersioned *tensor = tensor_for(api, array, is_ready);
    return tensor != nullptr ? checked(where, hand_over(where, api, kind, tensor), kind) : nullptr;
}

PyMethodDef kGiveMethods[] = {
    {"to", array_to, METH_O,
     "to($self, kind, /)\n--\n\n"
     "An object of another library's type on the same memory: array.to(torch.Tensor).\n\n"
     "Of any type with DLPack's table of C functions, __dlpack_c_exchange_api__: quicker than its library's "
     "from_dlpack(). The object's memory is ready on the stream that its library works on now."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
