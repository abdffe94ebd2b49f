#include "interop/dlpack_import.hpp"

#include <dlpack/dlpack.h>
#include <cstring>

#include "interop/exchange_api.hpp"
#include "support/deferred.hpp"
#include "support/gil.hpp"

namespace viapy {
namespace {

constexpr char kUsedLegacy[] = "used_dltensor";

via_dlpack_options options_of(const ImportOptions &wanted) {
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    options.copy = wanted.copy;
    if (wanted.has_device) {
        options.target_device_type = wanted.device.type;
        options.target_device_id = wanted.device.id;
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

// Returns whether the import takes long enough to release the GIL: a large copy, or a copy to or from a device.
bool takes_time(const DLTensor &tensor, const ImportOptions &wanted) {
    bool moves = wanted.has_device && wanted.device.type != static_cast<int32_t>(tensor.device.device_type);
    return moves || (wanted.copy == VIA_COPY_ALWAYS && (is_large(tensor) || tensor.device.device_type != kDLCPU));
}

bool has_known_fields(const DLManagedTensorVersioned &tensor) { return tensor.version.major == DLPACK_MAJOR_VERSION; }
bool has_known_fields(const DLManagedTensor &) { return true; }

// Marks a capsule as used before the GIL is released, so that no other thread imports it. A refused capsule gets its
// name back.
template <class Tensor>
PyObject *import_tensor(PyObject *capsule, const char *name, const char *used_name, const ImportOptions &wanted,
                        via_stream *stream,
                        via_status (*import)(Tensor *, const via_dlpack_options *, via_stream *, via_array **)) {
    auto *tensor = static_cast<Tensor *>(PyCapsule_GetPointer(capsule, name));
    const via_dlpack_options options = options_of(wanted);
    via_array *array = nullptr;
    const bool is_known = has_known_fields(*tensor);
    if (stream != nullptr && is_known && tensor->dl_tensor.device.device_type == kDLCPU) {
        return raise(VIA_ERROR_EXCHANGE,
                     "from_dlpack: x.__dlpack__() returned a tensor of host memory; expected that of a CUDA device, as "
                     "x.__dlpack_device__() reports");
    }
    const bool unlock = is_known && takes_time(tensor->dl_tensor, wanted);
    PyCapsule_SetName(capsule, used_name);
    const via_status status = without_gil(unlock, [&] { return import(tensor, &options, stream, &array); });
    if (status != VIA_OK) {
        raise_status(status);
        PyCapsule_SetName(capsule, name);
        return nullptr;
    }
    return new_array(array, Origin::DLPack);
}

PyObject *take(const char *function, PyObject *capsule, const ImportOptions &wanted, via_stream *stream) {
    const char *name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    if (name != nullptr && std::strcmp(name, kVersioned) == 0) {
        return import_tensor(capsule, kVersioned, "used_dltensor_versioned", wanted, stream, via_from_dlpack);
    }
    if (name != nullptr && std::strcmp(name, kLegacy) == 0) {
        return import_tensor(capsule, kLegacy, kUsedLegacy, wanted, stream, via_from_dlpack_legacy);
    }
    return raise(VIA_ERROR_EXCHANGE,
                 "%s: x is a capsule named \"%s\"; expected \"dltensor_versioned\" or \"dltensor\" (a tensor can be "
                 "imported once)",
                 function, name != nullptr ? name : "");
}

// Returns the newest supported version, made once.
PyObject *own_version() {
    static PyObject *const version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    Py_XINCREF(version);
    return version;
}

// The device of a producer's memory, and the stream that the memory is to be ready on; none for host memory.
struct Producer {
    Device device;
    OwnedStream stream;

    bool has_stream() const { return device.type == VIA_DEVICE_CUDA || device.type == VIA_DEVICE_CUDA_MANAGED; }

    // Treats objects without __dlpack_device__ as host memory.
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
        raise(VIA_ERROR_DEVICE,
              "from_dlpack: x.__dlpack_device__() is %S; expected the type and id of a device that exists",
              shown(pair.get()).get());
        return false;
    }
    device = {static_cast<int32_t>(type), static_cast<int32_t>(id)};
    return ok_or_raise(has_stream() ? via_stream_current(device.id, stream.out()) : VIA_OK);
}

bool is_ours(int32_t device_type) {
    return device_type == VIA_DEVICE_CPU || device_type == VIA_DEVICE_CUDA || device_type == VIA_DEVICE_CUDA_HOST ||
           device_type == VIA_DEVICE_CUDA_MANAGED;
}

// Requests copies from the producer only if Viaduct cannot make them: Viaduct's are faster.
PyObject *keywords_of(const ImportOptions &wanted, const Producer &producer) {
    Ref keywords(PyDict_New());
    bool good = keywords && set_item(keywords.get(), "max_version", own_version());
    bool moved_here = is_ours(producer.device.type) && producer.device.type != wanted.device.type;
    if (good && wanted.has_device && !moved_here) {
        good =
            set_item(keywords.get(), "dl_device",
                     Py_BuildValue("(ii)", static_cast<int>(wanted.device.type), static_cast<int>(wanted.device.id)));
    }
    if (good && wanted.copy == VIA_COPY_NEVER) {
        good = set_item(keywords.get(), "copy", boolean(false));
    }
    if (good && producer.stream) {
        good = set_item(keywords.get(), "stream", PyLong_FromVoidPtr(via_stream_handle(producer.stream.get())));
    }
    return good ? keywords.release() : nullptr;
}

PyObject *call_with_stream(PyObject *function, PyObject *nothing, const Producer &producer) {
    Ref keywords(PyDict_New());
    bool good =
        keywords && (!producer.stream ||
                     set_item(keywords.get(), "stream", PyLong_FromVoidPtr(via_stream_handle(producer.stream.get()))));
    return good ? PyObject_Call(function, nothing, keywords.get()) : nullptr;
}

// Producers before DLPack 1.0 accept the stream but no other keyword, and raise TypeError.
PyObject *call_dlpack(PyObject *function, const ImportOptions &wanted, const Producer &producer) {
    Ref keywords(keywords_of(wanted, producer));
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

// Makes the memory of immutable arrays read-only, which a legacy capsule itself cannot express.
PyObject *honour_immutability(PyObject *object, PyObject *capsule, PyObject *array) {
    const char *name = PyCapsule_GetName(capsule);
    bool is_legacy = name != nullptr && std::strcmp(name, kUsedLegacy) == 0;
    bool is_theirs = array != nullptr && (via_array_flags(handle_of(array)) & VIA_ARRAY_COPIED) == 0;
    if (!is_theirs || !is_legacy || !known_type(type_of(object)).is_immutable) {
        return array;
    }
    const Ref hold(array);
    return view_of(array, via_array_as_read_only);
}

PyObject *import_from_api(const char *function, const DLPackExchangeAPI *api, DLManagedTensorVersioned *tensor) {
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
        raise(VIA_ERROR_EXCHANGE, "%s: the exchange API of x returned no stream and no reason; expected one of both",
              function);
    }
    ErrorScope errors;
    via_dlpack_delete(tensor);
    return nullptr;
}

Signature kFromDlpack = {"from_dlpack", 1, 1, {"x", "device", "copy"}};

bool read_options(PyObject *device, PyObject *copy, ImportOptions *wanted) {
    bool flag = false;
    wanted->has_device = is_given(device);
    if (!parse_device("from_dlpack", device, &wanted->device) || !parse_bool(copy, false, &flag)) {
        return false;
    }
    wanted->copy = !is_given(copy) ? VIA_COPY_IF_NEEDED : flag ? VIA_COPY_ALWAYS : VIA_COPY_NEVER;
    return true;
}

}  // namespace

// A finished capsule is ready on the legacy stream, the default of the protocol.
PyObject *import_capsule(const char *function, PyObject *capsule, const ImportOptions &wanted) {
    return take(function, capsule, wanted, nullptr);
}

Outcome try_exchange_api(const char *function, PyObject *object, PyObject **out_array) {
    const DLPackExchangeAPI *api = known_type(type_of(object)).api;
    if (api == nullptr || api->managed_tensor_from_py_object_no_sync == nullptr) {
        return Outcome::Absent;
    }
    DLManagedTensorVersioned *tensor = nullptr;
    if (api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0 || tensor == nullptr) {
        if (PyErr_Occurred() == nullptr) {
            raise(VIA_ERROR_EXCHANGE, "%s: x is of type %S, whose exchange API failed without a reason", function,
                  shown(type_of(object)).get());
        }
        return Outcome::Failed;
    }
    if (!is_exportable(function, object, tensor->dl_tensor.dtype.code == kDLComplex)) {
        ErrorScope errors;
        via_dlpack_delete(tensor);
        return Outcome::Failed;
    }
    *out_array = import_from_api(function, api, tensor);
    return *out_array != nullptr ? Outcome::Imported : Outcome::Failed;
}

Outcome try_dlpack(const char *function, PyObject *object, const ImportOptions &wanted, PyObject **out_array) {
    bool failed = false;
    Ref dlpack(optional_attribute(object, "__dlpack__", &failed));
    if (!dlpack) {
        return failed ? Outcome::Failed : Outcome::Absent;
    }
    if (!is_exportable(function, object, true)) {
        return Outcome::Failed;
    }
    Producer producer;
    if (!known_type(type_of(object)).is_numpy && !producer.ask(object)) {
        return Outcome::Failed;
    }
    Ref capsule(call_dlpack(dlpack.get(), wanted, producer));
    if (!capsule) {
        return Outcome::Failed;
    }
    if (!PyCapsule_CheckExact(capsule.get())) {
        raise_type(function, "x.__dlpack__()", capsule.get(), "a capsule");
        return Outcome::Failed;
    }
    PyObject *array = take(function, capsule.get(), wanted, producer.stream.get());
    *out_array = honour_immutability(object, capsule.get(), array);
    return *out_array != nullptr ? Outcome::Imported : Outcome::Failed;
}

namespace {

PyObject *from_dlpack(PyObject *, PyObject *(&values)[3]) {
    ImportOptions wanted;
    PyObject *array = nullptr;
    drain();
    if (!read_options(values[1], values[2], &wanted)) {
        return nullptr;
    }
    if (PyCapsule_CheckExact(values[0])) {
        return import_capsule("from_dlpack", values[0], wanted);
    }
    if (!has_no_mask("from_dlpack", values[0])) {
        return nullptr;
    }
    bool plain = !wanted.has_device && wanted.copy != VIA_COPY_ALWAYS;
    Outcome outcome = plain ? try_exchange_api("from_dlpack", values[0], &array) : Outcome::Absent;
    if (outcome == Outcome::Absent) {
        outcome = try_dlpack("from_dlpack", values[0], wanted, &array);
    }
    if (outcome == Outcome::Absent) {
        return raise_type("from_dlpack", "x", values[0], "an object with __dlpack__, or a DLPack capsule");
    }
    return array;
}

}  // namespace

PyMethodDef kDlpackFunctions[] = {
    {"from_dlpack", parsed<kFromDlpack, from_dlpack>(), kKeywords,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "Returns an array on the memory of an object with __dlpack__, or of a DLPack capsule.\n\n"
     "`copy` True always copies, False never, None only if required."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
