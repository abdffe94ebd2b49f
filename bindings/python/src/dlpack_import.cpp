// from_dlpack(), and DLPack's part of asarray().
#include <dlpack/dlpack.h>

#include <cstring>

#include "errors.hpp"
#include "exchange.hpp"
#include "exchange_api.hpp"
#include "gil.hpp"
#include "loan.hpp"

namespace viapy {
namespace {

via_dlpack_options options_of(const Wish &wish) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = wish.copy;
    if (wish.has_device) {
        options.target_device_type = wish.device.type;
        options.target_device_id = wish.device.id;
    }
    return options;
}

bool is_large(const DLTensor &tensor) {
    int64_t elements = tensor.ndim > 0 && tensor.ndim <= VIA_MAX_NDIM && tensor.shape != nullptr ? 1 : 0;
    for (int32_t i = 0; elements > 0 && i < tensor.ndim; ++i) {
        if (__builtin_mul_overflow(elements, tensor.shape[i], &elements)) {
            return true;
        }
    }
    return elements >= kBytesWorthUnlocking;
}

// Whether taking it is work to let other threads run by: a copy of much, or of anything to or from a device.
bool takes_time(const DLTensor &tensor, const Wish &wish) {
    bool moves = wish.has_device && wish.device.type != static_cast<int32_t>(tensor.device.device_type);
    return moves || (wish.copy == VIA_COPY_ALWAYS && (is_large(tensor) || tensor.device.device_type != kDLCPU));
}

// A capsule is used from before the GIL is given up: meanwhile nobody else may take it. One that was refused is its
// producer's again.
PyObject *end_taking(PyObject *capsule, const char *name, via_status status, via_array *array) {
    if (status == VIA_OK) {
        return new_array(array, Origin::DLPack);
    }
    raise_status(status);
    PyCapsule_SetName(capsule, name);
    return nullptr;
}

PyObject *take_versioned(PyObject *capsule, const Wish &wish, via_stream *stream) {
    auto *tensor = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule, kVersioned));
    via_dlpack_options options = options_of(wish);
    via_array *array = nullptr;
    bool unlock = tensor->version.major == 1 && takes_time(tensor->dl_tensor, wish);
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    via_status status = without_gil(unlock, [&] { return via_from_dlpack(tensor, &options, stream, &array); });
    return end_taking(capsule, kVersioned, status, array);
}

PyObject *take_legacy(PyObject *capsule, const Wish &wish, via_stream *stream) {
    auto *tensor = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule, kLegacy));
    via_dlpack_options options = options_of(wish);
    via_array *array = nullptr;
    bool unlock = takes_time(tensor->dl_tensor, wish);
    PyCapsule_SetName(capsule, "used_dltensor");
    via_status status = without_gil(unlock, [&] { return via_from_dlpack_legacy(tensor, &options, stream, &array); });
    return end_taking(capsule, kLegacy, status, array);
}

PyObject *take(const char *function, PyObject *capsule, const Wish &wish, via_stream *stream) {
    const char *name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    if (name != nullptr && std::strcmp(name, kVersioned) == 0) {
        return take_versioned(capsule, wish, stream);
    }
    if (name != nullptr && std::strcmp(name, kLegacy) == 0) {
        return take_legacy(capsule, wish, stream);
    }
    return raise(VIA_ERROR_EXCHANGE,
                 "%s: found a capsule named \"%s\", expected \"dltensor_versioned\" or \"dltensor\": a tensor can be "
                 "taken once",
                 function, name != nullptr ? name : "");
}

// The newest version that is understood here; made once.
PyObject *own_version() {
    static PyObject *const version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    Py_XINCREF(version);
    return version;
}

// Where a producer's memory is, and the stream here that it is asked to be ready on: none for the host's.
struct Producer {
    Device device;
    via_stream *stream = nullptr;
    Producer() = default;
    Producer(const Producer &) = delete;
    Producer &operator=(const Producer &) = delete;
    ~Producer() { via_stream_release(stream); }

    bool has_stream() const { return device.type == VIA_DEVICE_CUDA || device.type == VIA_DEVICE_CUDA_MANAGED; }

    // Those that have no __dlpack_device__ are taken for the host's.
    bool ask(PyObject *object);
};

bool Producer::ask(PyObject *object) {
    bool failed = false;
    Ref function(optional_attribute(object, "__dlpack_device__", &failed));
    Ref pair(function ? PyObject_CallNoArgs(function.get()) : nullptr);
    if (failed || (function && !pair)) {
        return false;
    }
    Extents numbers;
    if (!pair) {
        return true;
    }
    if (!parse_extents("from_dlpack", "x.__dlpack_device__()", pair.get(), &numbers) || numbers.count != 2) {
        return PyErr_Occurred() == nullptr && raise_type("from_dlpack", "x.__dlpack_device__()", pair.get(),
                                                         "a pair of device type and id") != nullptr;
    }
    const auto [type, id] = std::pair(numbers.values[0], numbers.values[1]);
    if (type < 1 || type > INT32_MAX || id < 0 || id > INT32_MAX) {
        raise(VIA_ERROR_DEVICE, "from_dlpack: argument 'x.__dlpack_device__()': found %S, of which there is no device",
              shown(pair.get()).get());
        return false;
    }
    device = {static_cast<int32_t>(type), static_cast<int32_t>(id)};
    via_status status = has_stream() ? via_stream_current(device.id, &stream) : VIA_OK;
    return status == VIA_OK || (raise_status(status), false);
}

bool is_ours(int32_t device_type) {
    return device_type == VIA_DEVICE_CPU || device_type == VIA_DEVICE_CUDA || device_type == VIA_DEVICE_CUDA_HOST ||
           device_type == VIA_DEVICE_CUDA_MANAGED;
}

// Copies are made here, where they are fast: what is always to be copied, and what goes from one device to another that
// both are known here. The other wishes are the producer's to fulfil.
PyObject *keywords_of(const Wish &wish, const Producer &producer) {
    Ref keywords(PyDict_New());
    bool good = keywords && set_item(keywords.get(), "max_version", own_version());
    bool moved_here = is_ours(producer.device.type) && producer.device.type != wish.device.type;
    if (good && wish.has_device && !moved_here) {
        good = set_item(keywords.get(), "dl_device",
                        Py_BuildValue("(ii)", static_cast<int>(wish.device.type), static_cast<int>(wish.device.id)));
    }
    if (good && wish.copy == VIA_COPY_NEVER) {
        good = set_item(keywords.get(), "copy", boolean(false));
    }
    if (good && producer.stream != nullptr) {
        good = set_item(keywords.get(), "stream", PyLong_FromVoidPtr(via_stream_handle(producer.stream)));
    }
    return good ? keywords.give() : nullptr;
}

PyObject *call_with_stream(PyObject *function, PyObject *nothing, const Producer &producer) {
    Ref keywords(PyDict_New());
    bool good =
        keywords && (producer.stream == nullptr ||
                     set_item(keywords.get(), "stream", PyLong_FromVoidPtr(via_stream_handle(producer.stream))));
    return good ? PyObject_Call(function, nothing, keywords.get()) : nullptr;
}

// Producers of before 1.0 know the stream and none of the other keywords, and answer TypeError.
PyObject *call_dlpack(PyObject *function, const Wish &wish, const Producer &producer) {
    Ref keywords(keywords_of(wish, producer));
    Ref nothing(PyTuple_New(0));
    if (!keywords || !nothing) {
        return nullptr;
    }
    PyObject *capsule = PyObject_Call(function, nothing.get(), keywords.get());
    if (capsule != nullptr || !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return capsule;
    }
    PyErr_Clear();
    return call_with_stream(function, nothing.get(), producer);
}

// A capsule of before 1.0 cannot say that its memory is not to be written; that it comes from an Arrow array does.
PyObject *honour_immutability(PyObject *object, PyObject *capsule, PyObject *array) {
    const char *name = PyCapsule_GetName(capsule);
    bool is_legacy = name != nullptr && std::strcmp(name, "used_dltensor") == 0;
    if (array == nullptr || !is_legacy || PyObject_HasAttrString(object, "__arrow_c_array__") == 0) {
        return array;
    }
    Ref hold(array);
    via_array *view = nullptr;
    via_status status = via_array_as_read_only(handle_of(array), &view);
    return new_array_or_raise(status, view, Origin::DLPack);
}

PyObject *take_from_api(const DLPackExchangeAPI *api, DLManagedTensorVersioned *tensor) {
    via_array *array = nullptr;
    WorkStream stream;
    bool asked = tensor->version.major != DLPACK_MAJOR_VERSION || stream.ask(api, tensor->dl_tensor.device);
    via_status status = asked ? via_from_dlpack(tensor, nullptr, stream.get(), &array) : VIA_ERROR_CALLBACK;
    if (asked && status == VIA_OK) {
        return new_array(array, Origin::DLPack);
    }
    if (asked) {
        raise_status(status);
    } else if (PyErr_Occurred() == nullptr) {
        raise(VIA_ERROR_EXCHANGE, "the exchange API of x gave no stream and did not say why");
    }
    ErrorScope errors;
    via_dlpack_delete(tensor);
    return nullptr;
}

Signature kFromDlpack = {"from_dlpack", 1, 1, {"x", "device", "copy"}};

bool read_wish(PyObject *device, PyObject *copy, Wish *wish) {
    bool flag = false;
    wish->has_device = is_given(device);
    if (!parse_device("from_dlpack", device, &wish->device) || !parse_bool(copy, false, &flag)) {
        return false;
    }
    wish->copy = !is_given(copy) ? VIA_COPY_IF_NEEDED : flag ? VIA_COPY_ALWAYS : VIA_COPY_NEVER;
    return true;
}

}  // namespace

PyObject *optional_attribute(PyObject *object, const char *name, bool *out_failed) {
    PyObject *value = PyObject_GetAttrString(object, name);
    *out_failed = value == nullptr && !PyErr_ExceptionMatches(PyExc_AttributeError);
    if (value == nullptr && !*out_failed) {
        PyErr_Clear();
    }
    return value;
}

// A finished capsule is ready on the legacy stream, as it was asked for without a word about streams.
PyObject *take_capsule(const char *function, PyObject *capsule, const Wish &wish) {
    return take(function, capsule, wish, nullptr);
}

Tried try_exchange_api(const char *function, PyObject *object, PyObject **out_array) {
    const DLPackExchangeAPI *api = known_type(type_of(object)).api;
    if (api == nullptr || api->managed_tensor_from_py_object_no_sync == nullptr) {
        return Tried::Absent;
    }
    DLManagedTensorVersioned *tensor = nullptr;
    if (api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0 || tensor == nullptr) {
        if (PyErr_Occurred() == nullptr) {
            raise(VIA_ERROR_EXCHANGE, "%s: argument 'x': the exchange API of %S gave nothing and did not say why",
                  function, shown(type_of(object)).get());
        }
        return Tried::Failed;
    }
    if (!is_lendable(function, object, tensor->dl_tensor.dtype.code == kDLComplex)) {
        ErrorScope errors;
        via_dlpack_delete(tensor);
        return Tried::Failed;
    }
    *out_array = take_from_api(api, tensor);
    return *out_array != nullptr ? Tried::Done : Tried::Failed;
}

Tried try_dlpack(const char *function, PyObject *object, const Wish &wish, PyObject **out_array) {
    bool failed = false;
    Ref dlpack(optional_attribute(object, "__dlpack__", &failed));
    if (!dlpack) {
        return failed ? Tried::Failed : Tried::Absent;
    }
    if (!is_lendable(function, object, true)) {
        return Tried::Failed;
    }
    Producer producer;
    if (!known_type(type_of(object)).is_numpy && !producer.ask(object)) {
        return Tried::Failed;
    }
    Ref capsule(call_dlpack(dlpack.get(), wish, producer));
    if (!capsule) {
        return Tried::Failed;
    }
    if (!PyCapsule_CheckExact(capsule.get())) {
        raise_type(function, "x.__dlpack__()", capsule.get(), "a capsule");
        return Tried::Failed;
    }
    PyObject *array = take(function, capsule.get(), wish, producer.stream);
    *out_array = honour_immutability(object, capsule.get(), array);
    return *out_array != nullptr ? Tried::Done : Tried::Failed;
}

PyObject *from_dlpack(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[3] = {};
    Wish wish;
    PyObject *array = nullptr;
    drain();
    if (!parse_arguments(kFromDlpack, args, nargs, kwnames, values) || !read_wish(values[1], values[2], &wish)) {
        return nullptr;
    }
    if (PyCapsule_CheckExact(values[0])) {
        return take_capsule("from_dlpack", values[0], wish);
    }
    if (!hides_nothing("from_dlpack", values[0])) {
        return nullptr;
    }
    bool plain = !wish.has_device && wish.copy != VIA_COPY_ALWAYS;
    Tried tried = plain ? try_exchange_api("from_dlpack", values[0], &array) : Tried::Absent;
    if (tried == Tried::Absent) {
        tried = try_dlpack("from_dlpack", values[0], wish, &array);
    }
    if (tried == Tried::Absent) {
        return raise_type("from_dlpack", "x", values[0], "an object with __dlpack__, or a DLPack capsule");
    }
    return array;
}

}  // namespace viapy
