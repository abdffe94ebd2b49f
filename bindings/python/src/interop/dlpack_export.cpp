#include "interop/dlpack_export.hpp"

#include <dlpack/dlpack.h>

#include "support/deferred.hpp"
#include "support/gil.hpp"
#include "support/identity_cache.hpp"

namespace viapy {
namespace {

// Returns whether no consumer has renamed the capsule, which then owns its tensor. Compares texts only if the pointers
// differ.
bool is_unused(PyObject *capsule, const char *name) {
    return PyCapsule_GetName(capsule) == name || PyCapsule_IsValid(capsule, name);
}

// The form of DLPack 1.0 and later, and the one before it.
struct Versioned {
    using Tensor = DLManagedTensorVersioned;
    static constexpr const char *name = kVersioned;
    static via_status make(via_array *array, const via_dlpack_options *options, via_stream *stream, Tensor **out) {
        return via_to_dlpack(array, options, stream, out);
    }
    static void destroy(Tensor *tensor) { via_dlpack_delete(tensor); }
};

struct Legacy {
    using Tensor = DLManagedTensor;
    static constexpr const char *name = kLegacy;
    static via_status make(via_array *array, const via_dlpack_options *options, via_stream *stream, Tensor **out) {
        return via_to_dlpack_legacy(array, options, stream, out);
    }
    static void destroy(Tensor *tensor) { via_dlpack_delete_legacy(tensor); }
};

template <class Form>
void drop(PyObject *capsule) {
    if (is_unused(capsule, Form::name)) {
        auto *tensor = static_cast<typename Form::Tensor *>(PyCapsule_GetPointer(capsule, Form::name));
        keeping_error([tensor] { Form::destroy(tensor); });
    }
}

bool read_device(PyObject *value, via_dlpack_options *options) {
    if (!is_given(value)) {
        return true;
    }
    Extents numbers;
    if (!parse_extents("Array.__dlpack__", "dl_device", value, &numbers)) {
        return false;
    }
    if (numbers.count != 2) {
        raise_type("Array.__dlpack__", "dl_device", value, "a pair of device type and id");
        return false;
    }
    const auto [type, id] = std::pair(numbers.values[0], numbers.values[1]);
    if (type < 1 || type > INT32_MAX || id < 0 || id > INT32_MAX) {
        raise_buffer(VIA_ERROR_DEVICE,
                     "Array.__dlpack__: dl_device is %S; expected the type and id of a device that exists",
                     shown(value).get());
        return false;
    }
    options->target_device_type = static_cast<int32_t>(type);
    options->target_device_id = static_cast<int32_t>(id);
    return true;
}

// Copies without a request only for another device, since writes to an unexpected copy would be lost. Layouts that
// DLPack cannot describe are refused then, as by every other library.
bool read_copy(PyObject *value, via_array *array, via_dlpack_options *options) {
    const bool elsewhere =
        options->target_device_type != VIA_DEVICE_ANY && (options->target_device_type != via_array_device_type(array) ||
                                                          options->target_device_id != via_array_device_id(array));
    bool copy = false;
    if (!parse_bool(value, false, &copy)) {
        return false;
    }
    options->copy = copy ? VIA_COPY_ALWAYS : is_given(value) || !elsewhere ? VIA_COPY_NEVER : VIA_COPY_IF_NEEDED;
    return true;
}

// Wraps a CUstream only if it has to wait for something, or a copy is made on it.
bool read_cuda_stream(int64_t number, bool has_work, OwnedStream *out) {
    if (number == 1 || number == 2) {
        out->reset(number == 1 ? via_stream_legacy() : via_stream_per_thread());
        return true;
    }
    if (number <= 0) {
        raise_buffer(VIA_ERROR_INVALID_ARGUMENT,
                     "Array.__dlpack__: stream is %lld; expected None, -1, 1, 2 or a CUstream (0 could mean either "
                     "default stream)",
                     static_cast<long long>(number));
        return false;
    }
    if (!has_work) {
        out->reset(via_stream_no_sync());
        return true;
    }
    void *native = reinterpret_cast<void *>(static_cast<intptr_t>(number));
    via_status status = via_stream_wrap(native, -1, out->out());
    return status == VIA_OK || (raise_exchange(status), false);
}

// Host memory accepts None and -1 only.
bool read_stream(PyObject *value, via_array *array, bool may_copy, OwnedStream *out) {
    if (!is_given(value)) {
        return true;
    }
    int64_t number = 0;
    if (!parse_int64("Array.__dlpack__", "stream", value, &number)) {
        return false;
    }
    if (number == -1) {
        out->reset(via_stream_no_sync());
        return true;
    }
    if (via_array_device_type(array) == VIA_DEVICE_CPU) {
        raise_buffer(VIA_ERROR_INVALID_ARGUMENT, "Array.__dlpack__: stream is %lld; expected None for host memory",
                     static_cast<long long>(number));
        return false;
    }
    return read_cuda_stream(number, may_copy || via_array_is_ready(array) == 0, out);
}

// Returns whether the export may wait or copy. Neither may happen with the GIL, which the awaited work may need.
bool takes_time(via_array *array, const via_dlpack_options &options) {
    if (options.copy != VIA_COPY_ALWAYS && options.target_device_type == VIA_DEVICE_ANY) {
        return via_array_is_ready(array) == 0;
    }
    return via_array_device_type(array) != VIA_DEVICE_CPU || options.target_device_type > VIA_DEVICE_CPU ||
           via_array_nbytes(array) >= kBytesWorthUnlocking;
}

template <class Form>
PyObject *make_capsule(via_array *array, const via_dlpack_options &options, via_stream *stream) {
    typename Form::Tensor *tensor = nullptr;
    via_status status =
        without_gil(takes_time(array, options), [&] { return Form::make(array, &options, stream, &tensor); });
    if (status != VIA_OK) {
        return raise_exchange(status);
    }
    PyObject *capsule = PyCapsule_New(tensor, Form::name, drop<Form>);
    if (capsule == nullptr) {
        Form::destroy(tensor);
    }
    return capsule;
}

// Recognises torch.from_dlpack, which ends the process for a negative stride (pytorch#188023), by its module.
bool consumer_would_abort(via_array *array) {
    PyObject *globals = has_negative_stride(array) ? PyEval_GetGlobals() : nullptr;
    PyObject *name = globals != nullptr ? PyDict_GetItemString(globals, "__name__") : nullptr;
    return name != nullptr && PyUnicode_Check(name) &&
           PyUnicode_CompareWithASCIIString(name, "torch.utils.dlpack") == 0;
}

// Versions by the tuples in the code of consumers.
struct Version {
    int32_t major;
    int32_t minor;
};
IdentityCache<Version, 16> g_versions;

bool parse_max_version(const char *function, PyObject *value, via_dlpack_options *options) {
    options->max_major = options->max_minor = 0;
    if (!is_given(value)) {
        return true;
    }
    if (const Version *known = g_versions.find(value)) {
        options->max_major = known->major;
        options->max_minor = known->minor;
        return true;
    }
    Extents version;
    if (!parse_extents(function, "max_version", value, &version)) {
        return false;
    }
    if (version.count != 2) {
        raise_type(function, "max_version", value, "a pair of major and minor version");
        return false;
    }
    auto bounded = [](int64_t number) { return static_cast<int32_t>(number > 9999 ? 9999 : number < 0 ? 0 : number); };
    options->max_major = bounded(version.values[0]);
    options->max_minor = options->max_major > 0 ? bounded(version.values[1]) : 0;
    bool is_fixed = PyTuple_CheckExact(value) && PyLong_CheckExact(PyTuple_GetItem(value, 0)) &&
                    PyLong_CheckExact(PyTuple_GetItem(value, 1));
    if (is_fixed) {
        g_versions.remember(value, {options->max_major, options->max_minor});
    }
    return true;
}

PyObject *new_capsule(via_array *array, const via_dlpack_options &options, via_stream *stream) {
    return options.max_major >= 1 ? make_capsule<Versioned>(array, options, stream)
                                  : make_capsule<Legacy>(array, options, stream);
}

Signature kDlpack = {"Array.__dlpack__", 0, 0, {"stream", "max_version", "dl_device", "copy"}};

bool read_arguments(via_array *array, PyObject **values, via_dlpack_options *options, OwnedStream *stream) {
    if (!read_stream(values[0], array, is_given(values[2]) || is_given(values[3]), stream) ||
        !parse_max_version("Array.__dlpack__", values[1], options) || !read_device(values[2], options) ||
        !read_copy(values[3], array, options)) {
        return false;
    }
    if (values[1] == nullptr && values[2] == nullptr && values[3] == nullptr) {
        options->copy = VIA_COPY_IF_NEEDED;  // consumers of before 1.0 know no copies to be refused
    }
    return true;
}

PyObject *dlpack_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *values[4] = {};
    via_dlpack_options options = VIA_DLPACK_OPTIONS_INIT;
    OwnedStream stream;
    via_array *array = handle_of(self);
    const bool has_arguments = nargs > 0 || kwnames != nullptr;
    drain();
    if (has_arguments && (!parse_arguments(kDlpack, args, nargs, kwnames, values) ||
                          !read_arguments(array, values, &options, &stream))) {
        return nullptr;
    }
    if (options.copy != VIA_COPY_ALWAYS && consumer_would_abort(array)) {
        return raise_buffer(VIA_ERROR_EXCHANGE,
                            "Array.__dlpack__: the array has a negative stride, which PyTorch cannot import; expected "
                            "its copy(), or a flip of the tensor");
    }
    return new_capsule(array, options, stream.get());
}

// Returns cached pairs for host memory and the first CUDA devices, since every consumer asks.
PyObject *kept_pair(int32_t type, int32_t id) {
    static PyObject *cuda[16] = {};
    static PyObject *const cpu = Py_BuildValue("(ii)", static_cast<int>(VIA_DEVICE_CPU), 0);
    PyObject *pair = cpu;
    if (type == VIA_DEVICE_CUDA) {
        cuda[id] = cuda[id] != nullptr ? cuda[id] : Py_BuildValue("(ii)", static_cast<int>(type), static_cast<int>(id));
        pair = cuda[id];
    }
    Py_XINCREF(pair);
    return pair;
}

PyObject *dlpack_device(PyObject *self, PyObject *) {
    via_array *array = handle_of(self);
    int32_t type = via_array_device_type(array);
    int32_t id = via_array_device_id(array);
    return type == VIA_DEVICE_CPU || (type == VIA_DEVICE_CUDA && id < 16)
               ? kept_pair(type, id)
               : Py_BuildValue("(ii)", static_cast<int>(type), static_cast<int>(id));
}

}  // namespace

bool has_negative_stride(via_array *array) {
    const int64_t *strides = via_array_strides(array);
    const int32_t ndim = strides != nullptr ? via_array_ndim(array) : 0;
    for (int32_t i = 0; i < ndim; ++i) {
        if (strides[i] < 0 && via_array_shape(array)[i] > 1) {
            return true;
        }
    }
    return false;
}

PyMethodDef kDlpackMethods[] = {
    {"__dlpack__", method(dlpack_method), kKeywords,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Exports the array as a DLPack capsule.\n\n"
     "Raises BufferError if DLPack cannot describe the array."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\n"
     "Returns the pair of DLPack's device type and the device id."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
