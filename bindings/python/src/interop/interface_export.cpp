#include "interop/interface_export.hpp"

#include <algorithm>
#include <iterator>

#include "objects/stream_argument.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

// The keys of the descriptions, made once.
PyObject *g_shape, *g_typestr, *g_data, *g_strides, *g_version, *g_stream;

bool set(PyObject *dict, PyObject *key, PyObject *value) {
    Ref owned(value);
    return owned && PyDict_SetItem(dict, key, owned.get()) == 0;
}

// Cached descriptions, one for each dtype. Copying one is faster than setting every key. Each keeps the last shape,
// which is often the next one too, and the last address, since consumers ask twice: whether a description exists, and
// for it.
struct Blank {
    int32_t dtype;
    int32_t ndim;  // -1: not the shape that is below
    int64_t shape[4];
    const void *address;
    int32_t read_only;  // -1: not the address above
    PyObject *dict;
};
struct Protocol {
    const char *name;
    bool is_cuda;
    Blank blanks[64];
};
Protocol g_host = {"__array_interface__", false, {}};
Protocol g_cuda = {"__cuda_array_interface__", true, {}};

// Raises AttributeError for arrays that the protocol cannot describe, so that numpy.asarray tries __array__ next.
PyObject *absent(const Protocol &protocol, const char *reason) {
    return PyErr_Format(PyExc_AttributeError, "Array has no %s here: %s", protocol.name, reason);
}

PyObject *make_blank(const Protocol &protocol, via_array *array) {
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    via_status status = protocol.is_cuda ? via_to_cuda_array_interface(array, via_stream_no_sync(), &description)
                                         : via_to_array_interface(array, &description);
    if (status != VIA_OK) {
        return status == VIA_ERROR_EXCHANGE ? absent(protocol, via_last_error()) : raise_status(status);
    }
    Ref dict(PyDict_New());
    bool good = dict && set(dict.get(), g_shape, none()) &&
                set(dict.get(), g_typestr, PyUnicode_InternFromString(description.typestr)) &&
                set(dict.get(), g_data, none()) && set(dict.get(), g_strides, none()) &&
                set(dict.get(), g_version, PyLong_FromLong(description.version)) &&
                (!protocol.is_cuda || set(dict.get(), g_stream, none()));
    return good ? dict.release() : nullptr;
}

// Returns NULL with AttributeError set if the protocol has no name for the dtype.
Blank *find_blank(Protocol &protocol, via_array *array) {
    int32_t dtype = via_array_dtype(array);
    Blank &blank = protocol.blanks[static_cast<uint32_t>(dtype * 0x9E3779B1u) >> 26];
    if (blank.dict == nullptr || blank.dtype != dtype) {
        PyObject *made = make_blank(protocol, array);
        if (made == nullptr) {
            return nullptr;
        }
        Ref forgotten(std::exchange(blank.dict, made));
        blank.dtype = dtype;
        blank.ndim = blank.read_only = -1;
    }
    return &blank;
}

bool put_shape(Blank *blank, via_array *array) {
    int32_t ndim = via_array_ndim(array);
    const int64_t *shape = via_array_shape(array);
    if (ndim == blank->ndim && std::equal(shape, shape + ndim, blank->shape)) {
        return true;
    }
    blank->ndim = -1;
    if (!set(blank->dict, g_shape, tuple_of(shape, ndim))) {
        return false;
    }
    if (ndim <= static_cast<int32_t>(std::size(blank->shape))) {
        std::copy_n(shape, ndim, blank->shape);
        blank->ndim = ndim;
    }
    return true;
}

bool put_address(Blank *blank, via_array *array) {
    const void *address = via_array_size(array) > 0 ? via_array_data(array) : nullptr;
    const int32_t read_only = (via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0 ? 1 : 0;
    if (address == blank->address && read_only == blank->read_only) {
        return true;
    }
    blank->read_only = -1;
    Ref number(PyLong_FromVoidPtr(const_cast<void *>(address)));
    if (!number || !set(blank->dict, g_data, PyTuple_Pack(2, number.get(), read_only != 0 ? Py_True : Py_False))) {
        return false;
    }
    blank->address = address;
    blank->read_only = read_only;
    return true;
}

// Disables garbage collection: until Python 3.12, creating an object may run finalizers that ask for other
// descriptions.
class NoCollection {
public:
    NoCollection() : was_enabled_(PyGC_Disable()) {}
    ~NoCollection() {
        if (was_enabled_ != 0) {
            PyGC_Enable();
        }
    }
    NoCollection(const NoCollection &) = delete;
    NoCollection &operator=(const NoCollection &) = delete;

private:
    int was_enabled_;
};

PyObject *dict_of(Protocol &protocol, via_array *array) {
    const NoCollection while_blanks_are_used;
    Blank *blank = find_blank(protocol, array);
    const bool filled = blank != nullptr && put_shape(blank, array) && put_address(blank, array);
    Ref dict(filled ? PyDict_Copy(blank->dict) : nullptr);
    bool good = static_cast<bool>(dict);
    if (good && via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR) == 0) {
        good = set(dict.get(), g_strides, tuple_of(via_array_byte_strides(array), via_array_ndim(array)));
    }
    return good ? dict.release() : nullptr;
}

PyObject *get_array_interface(PyObject *self, void *) {
    via_array *array = handle_of(self);
    if (via_array_device_type(array) == VIA_DEVICE_CUDA) {
        return absent(g_host, "it is memory of a CUDA device");
    }
    return wait_until_ready(array) ? dict_of(g_host, array) : nullptr;
}

// Makes the content ready on the current stream, and adds that stream to the description.
bool add_stream(PyObject *dict, via_array *array) {
    StreamArgument current;
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    if (!current.parse_or_current("Array.__cuda_array_interface__", nullptr, via_array_device_id(array))) {
        return false;
    }
    return ok_or_raise(via_to_cuda_array_interface(array, current.get(), &description)) &&
           set(dict, g_stream, PyLong_FromLongLong(description.stream));
}

// Omits the stream if the content is ready, so that no consumer waits.
PyObject *get_cuda_array_interface(PyObject *self, void *) {
    via_array *array = handle_of(self);
    if (via_array_device_type(array) == VIA_DEVICE_CPU) {
        return absent(g_cuda, "it is host memory");
    }
    Ref dict(dict_of(g_cuda, array));
    bool good = dict && (via_array_is_ready(array) != 0 || add_stream(dict.get(), array));
    return good ? dict.release() : nullptr;
}

}  // namespace

bool init_interfaces() {
    g_shape = PyUnicode_InternFromString("shape");
    g_typestr = PyUnicode_InternFromString("typestr");
    g_data = PyUnicode_InternFromString("data");
    g_strides = PyUnicode_InternFromString("strides");
    g_version = PyUnicode_InternFromString("version");
    g_stream = PyUnicode_InternFromString("stream");
    return g_shape && g_typestr && g_data && g_strides && g_version && g_stream;
}

PyGetSetDef kInterfaceGetters[] = {
    {"__array_interface__", get_array_interface, nullptr, "Returns NumPy's description of host memory.", nullptr},
    {"__cuda_array_interface__", get_cuda_array_interface, nullptr,
     "Returns the description of device memory, version 3; absent for host memory.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace viapy
