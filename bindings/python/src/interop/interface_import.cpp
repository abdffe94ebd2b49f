#include "interop/interface_import.hpp"

#include <cstring>

#include "interop/exchange_api.hpp"
#include "support/borrowed_memory.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

// Searches the fields of a record, listed by "descr", for Python objects, which no library may copy. A list may contain
// itself, so depth and count are bounded. Calls no Python code.
class Fields {
public:
    bool are_plain(PyObject *fields, int depth = 0) {
        if (PyUnicode_Check(fields)) {
            return PyUnicode_FindChar(fields, 'O', 0, 2, 1) < 0;
        }
        if (!PyList_Check(fields)) {
            return true;
        }
        for (Py_ssize_t i = 0; i < PyList_Size(fields); ++i) {
            PyObject *field = PyList_GetItem(fields, i);
            bool has_type = PyTuple_Check(field) && PyTuple_Size(field) >= 2;
            if (depth == kMaxDepth || ++count_ > kMaxCount ||
                (has_type && !are_plain(PyTuple_GetItem(field, 1), depth + 1))) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr int kMaxDepth = 64;
    static constexpr int kMaxCount = 1 << 16;
    int count_ = 0;
};

// Parses one description. Errors name the wrong field.
class Reader {
public:
    Reader(const char *function, const char *protocol, PyObject *dict)
        : function_(function), protocol_(protocol), dict_(dict) {}

    bool read(bool is_cuda, via_array_interface *out) {
        return read_version(out) && read_typestr(out) && read_descr() && read_shape(out) && read_strides(out) &&
               read_data(out) && read_mask() && (!is_cuda || read_stream(out));
    }

private:
    // Returns a reference, since __index__ or __repr__ of a value may change the dictionary.
    Ref find(const char *key) {
        PyObject *value = PyDict_GetItemString(dict_, key);
        return is_given(value) ? Ref::share(value) : Ref();
    }

    // Keeps exceptions that do not concern the value, such as KeyboardInterrupt.
    bool wrong(const char *key, const char *expected) {
        if (PyErr_Occurred() != nullptr &&
            (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError))) {
            return false;
        }
        PyErr_Clear();
        Ref found = find(key);
        raise(VIA_ERROR_EXCHANGE, "%s: x.%s[\"%s\"] is %S; expected %s", function_, protocol_, key,
              shown(found ? found.get() : Py_None).get(), expected);
        return false;
    }

    bool read_version(via_array_interface *out) {
        Ref version = find("version");
        long number = version ? PyLong_AsLong(version.get()) : 3;
        if (PyErr_Occurred() != nullptr || number < 0 || number > 3) {
            return wrong("version", "at most 3");
        }
        out->version = 3;  // what was added up to it reads as absent in older ones
        return true;
    }

    bool read_typestr(via_array_interface *out) {
        Ref typestr = find("typestr");
        const char *text = typestr && PyUnicode_Check(typestr.get()) ? whole_text(typestr.get()) : nullptr;
        if (text == nullptr || std::strlen(text) >= sizeof out->typestr) {
            return wrong("typestr", "a text such as \"<f4\"");
        }
        std::strcpy(out->typestr, text);
        return true;
    }

    bool read_descr() {
        Ref fields = find("descr");
        return !fields || Fields().are_plain(fields.get()) ||
               wrong("descr", "no Python objects, and fields at most 64 deep");
    }

    bool read_shape(via_array_interface *out) {
        Ref shape = find("shape");
        Extents extents;
        if (!shape || !PyTuple_Check(shape.get())) {
            return wrong("shape", "a tuple");
        }
        if (!parse_extents(function_, protocol_, shape.get(), &extents)) {
            static_assert(VIA_MAX_NDIM == 64, "the text says so");
            return wrong("shape", "at most 64 integers of 64 bits");
        }
        out->ndim = extents.count;
        std::memcpy(out->shape, extents.values, sizeof(int64_t) * static_cast<size_t>(extents.count));
        return true;
    }

    bool read_strides(via_array_interface *out) {
        Ref strides = find("strides");
        if (!strides) {
            return true;
        }
        Extents steps;
        if (!PyTuple_Check(strides.get()) || PyTuple_Size(strides.get()) != out->ndim) {
            return wrong("strides", "None, or a tuple as long as the shape");
        }
        if (!parse_extents(function_, protocol_, strides.get(), &steps)) {
            return wrong("strides", "integers of 64 bits");
        }
        out->has_strides = 1;
        std::memcpy(out->strides, steps.values, sizeof(int64_t) * static_cast<size_t>(steps.count));
        return true;
    }

    bool read_data(via_array_interface *out) {
        Ref data = find("data");
        if (!data || !PyTuple_Check(data.get()) || PyTuple_Size(data.get()) != 2) {
            return wrong("data", "a pair of address and read-only flag");
        }
        bool good = parse_number_address(function_, protocol_, PyTuple_GetItem(data.get(), 0), &out->address);
        out->read_only = good ? PyObject_IsTrue(PyTuple_GetItem(data.get(), 1)) : -1;
        return out->read_only >= 0 || wrong("data", "a pair of address and read-only flag");
    }

    bool read_mask() { return !find("mask") || wrong("mask", "none: Viaduct has no masked arrays"); }

    bool read_stream(via_array_interface *out) {
        Ref stream = find("stream");
        if (!stream) {
            return true;
        }
        out->has_stream = 1;
        bool good = is_number(stream.get()) && parse_int64(function_, protocol_, stream.get(), &out->stream);
        return (good && out->stream > 0) || wrong("stream", "None, 1, 2 or a CUstream");
    }

    const char *function_;
    const char *protocol_;
    PyObject *dict_;
};

using Importer = via_status (*)(const via_array_interface *, via_release_fn, void *, via_array **);

// Keeps the object alive, and its dictionary. That of NumPy's scalars alone holds the array that it describes.
PyObject *import_description(Importer importer, const via_array_interface &description, PyObject *object,
                             PyObject *dict) {
    BorrowedMemory *memory = borrow_memory(object, nullptr);
    if (memory == nullptr) {
        return nullptr;
    }
    Py_INCREF(dict);
    memory->description = dict;
    via_array *array = adopt_borrowed(memory, [&](via_release_fn release, void *context, via_array **out) {
        return importer(&description, release, context, out);
    });
    return array != nullptr ? new_array(array, Origin::ArrayInterface) : nullptr;
}

// Returns the dtype by the object's own `dtype` attribute, 0 if it has none of that size. NumPy describes types of
// ml_dtypes as unnamed bytes, or as one of several one-byte floats.
int32_t own_type(const char *function, PyObject *object, int64_t nbytes) {
    bool failed = false;
    Ref dtype(optional_attribute(object, "dtype", &failed));
    int32_t own = dtype ? parse_dtype(function, dtype.get()) : 0;
    PyErr_Clear();
    return own > 0 && int64_t{bits_of(own)} * lanes_of(own) == nbytes * 8 ? own : 0;
}

bool is_narrow_float(const char *typestr) { return *typestr != '\0' && std::strcmp(typestr + 1, "f1") == 0; }

PyObject *import_as_its_own(const char *function, Importer importer, via_array_interface *description, PyObject *object,
                            PyObject *dict) {
    if (is_narrow_float(description->typestr) && own_type(function, object, 1) != 0) {
        std::strcpy(description->typestr, "|V1");
    }
    Ref array(import_description(importer, *description, object, dict));
    int32_t described = array ? via_array_dtype(handle_of(array.get())) : 0;
    int32_t own = is_record(described) ? own_type(function, object, -int64_t{described}) : 0;
    return own == 0 ? array.release() : view_of(array.get(), via_array_reinterpret, own);
}

Outcome try_interface(const char *function, PyObject *object, const char *name, bool is_cuda, Importer importer,
                      PyObject **out_array) {
    bool failed = false;
    Ref dict(optional_attribute(object, name, &failed));
    if (!dict) {
        return failed ? Outcome::Failed : Outcome::Absent;
    }
    if (!PyDict_Check(dict.get())) {
        raise_type(function, name, dict.get(), "a dict");
        return Outcome::Failed;
    }
    via_array_interface description = VIA_ARRAY_INTERFACE_INIT;
    if (!Reader(function, name, dict.get()).read(is_cuda, &description)) {
        return Outcome::Failed;
    }
    *out_array = import_as_its_own(function, importer, &description, object, dict.get());
    return *out_array != nullptr ? Outcome::Imported : Outcome::Failed;
}

}  // namespace

Outcome try_array_interface(const char *function, PyObject *object, PyObject **out_array) {
    return try_interface(function, object, "__array_interface__", false, via_from_array_interface, out_array);
}

Outcome try_cuda_array_interface(const char *function, PyObject *object, PyObject **out_array) {
    if (!is_exportable(function, object, true)) {
        return Outcome::Failed;
    }
    return try_interface(function, object, "__cuda_array_interface__", true, via_from_cuda_array_interface, out_array);
}

}  // namespace viapy
