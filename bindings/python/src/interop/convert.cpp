#include "interop/convert.hpp"

#include <atomic>

#include "interop/dlpack_export.hpp"
#include "interop/exchange_api.hpp"
#include "support/deferred.hpp"
#include "support/gil.hpp"

namespace viapy {
namespace {

// A library that refuses a tensor must still delete it. PyTorch does not, so the deleter records whether it ran.
using Deleter = void (*)(DLManagedTensorVersioned *);
std::atomic<Deleter> g_deleter{nullptr};  // of every tensor of the library
thread_local DLManagedTensorVersioned *t_passed = nullptr;

void delete_and_clear(DLManagedTensorVersioned *tensor) {
    if (tensor == t_passed) {
        t_passed = nullptr;
    }
    g_deleter.load(std::memory_order_relaxed)(tensor);
}

void delete_if_left(DLManagedTensorVersioned *tensor) {
    if (tensor == t_passed) {
        ErrorScope errors;
        via_dlpack_delete(tensor);
    }
}

PyObject *refused(const char *where, PyObject *kind, DLManagedTensorVersioned *tensor) {
    if (PyErr_Occurred() == nullptr) {
        raise(VIA_ERROR_EXCHANGE, "%s is %S, whose library refused the memory without a reason", where,
              shown(kind).get());
    }
    delete_if_left(tensor);
    return nullptr;
}

PyObject *pass_to_library(const char *where, const DLPackExchangeAPI *api, PyObject *kind,
                          DLManagedTensorVersioned *tensor) {
    g_deleter.store(tensor->deleter, std::memory_order_relaxed);
    tensor->deleter = delete_and_clear;
    void *object = nullptr;
    DLManagedTensorVersioned *outer = std::exchange(t_passed, tensor);
    bool taken = api->managed_tensor_to_py_object_no_sync(tensor, &object) == 0 && object != nullptr;
    PyObject *made = taken ? static_cast<PyObject *>(object) : refused(where, kind, tensor);
    t_passed = outer;
    return made;
}

// Lets a library initialise once what it otherwise initialises when it allocates on a device, by viaduct._interop.
bool prepare(PyObject *kind, via_array *array) {
    if (via_array_device_type(array) != VIA_DEVICE_CUDA || known_type(kind).is_prepared) {
        return true;
    }
    const Ref done = call_interop("prepare_for_cuda", kind);
    if (done) {
        mark_prepared(kind);
    }
    return bool(done);
}

const DLPackExchangeAPI *api_of(const char *where, PyObject *kind) {
    const DLPackExchangeAPI *api = PyType_Check(kind) ? known_type(kind).api : nullptr;
    if (api == nullptr && PyType_Check(kind)) {
        api = look_at(kind).api;  // which a package may have added since
    }
    if (api == nullptr || api->managed_tensor_to_py_object_no_sync == nullptr) {
        raise(VIA_ERROR_DTYPE,
              "%s is %S; expected a type with __dlpack_c_exchange_api__, such as torch.Tensor (for others, call the "
              "library's from_dlpack())",
              where, shown(kind).get());
        return nullptr;
    }
    return api;
}

// PyTorch ends the process for a negative stride (pytorch#188023).
bool would_abort(const DLPackExchangeAPI *api, via_array *array) {
    Ref tensor = has_negative_stride(array) ? loaded("torch", "Tensor") : Ref();
    return tensor && known_type(tensor.get()).api == api;
}

// Returns a tensor that is ready on the library's current stream. Host memory and ready content need no stream.
DLManagedTensorVersioned *tensor_for(const char *where, const DLPackExchangeAPI *api, via_array *array, bool is_ready) {
    DLManagedTensorVersioned *tensor = nullptr;
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.max_major = DLPACK_MAJOR_VERSION;
    options.max_minor = static_cast<int32_t>(api->header.version.minor);
    options.copy = VIA_COPY_NEVER;
    WorkStream stream;
    DLDevice device = {static_cast<DLDeviceType>(via_array_device_type(array)), via_array_device_id(array)};
    if (!is_ready && !stream.ask(api, device)) {
        if (PyErr_Occurred() == nullptr) {
            raise(VIA_ERROR_EXCHANGE,
                  "%s: the exchange API of the type returned no stream and no reason; expected one of both", where);
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

// Refuses types that inherit their table, which makes objects of the base type.
PyObject *checked(const char *where, PyObject *made, PyObject *kind) {
    if (made == nullptr || type_of(made) == kind) {
        return made;
    }
    Ref object(made);
    int is_one = PyObject_IsInstance(made, kind);
    if (is_one == 0) {
        raise(VIA_ERROR_DTYPE, "%s is %S, whose __dlpack_c_exchange_api__ makes objects of %S; expected that type",
              where, shown(kind).get(), shown(type_of(made)).get());
    }
    return is_one == 1 ? object.release() : nullptr;
}

PyObject *array_to(PyObject *self, PyObject *kind) {
    via_array *array = handle_of(self);
    drain();
    return convert("Array.to: kind", array, kind, via_array_is_ready(array) != 0);
}

}  // namespace

PyObject *convert(const char *where, via_array *array, PyObject *kind, bool is_ready) {
    const DLPackExchangeAPI *api = api_of(where, kind);
    if (api == nullptr || !prepare(kind, array)) {
        return nullptr;
    }
    if (would_abort(api, array)) {
        return raise_buffer(VIA_ERROR_EXCHANGE,
                            "%s: the array has a negative stride, which PyTorch cannot import; expected its copy(), or "
                            "a flip of the tensor",
                            where);
    }
    DLManagedTensorVersioned *tensor = tensor_for(where, api, array, is_ready);
    return tensor != nullptr ? checked(where, pass_to_library(where, api, kind, tensor), kind) : nullptr;
}

PyMethodDef kConvertMethods[] = {
    {"to", array_to, METH_O,
     "to($self, kind, /)\n--\n\n"
     "Returns an object of another library's type on the same memory: array.to(torch.Tensor).\n\n"
     "Accepts any type with __dlpack_c_exchange_api__, DLPack's table of C functions. Faster than that "
     "library's from_dlpack(). The memory is ready on the stream that the library uses now."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
