#include "array/array_inspect.hpp"

#include <iterator>

#include "support/arguments.hpp"
#include "support/borrowed_memory.hpp"
#include "support/dtypes.hpp"

namespace viapy {
namespace {

PyObject *get_ptr(PyObject *self, void *) { return PyLong_FromVoidPtr(via_array_data(handle_of(self))); }

PyObject *get_shape(PyObject *self, void *) {
    via_array *array = handle_of(self);
    return tuple_of(via_array_shape(array), via_array_ndim(array));
}

PyObject *steps(via_array *array, const int64_t *values) {
    int32_t ndim = via_array_ndim(array);
    return ndim > 0 && values == nullptr ? none() : tuple_of(values, ndim);
}

PyObject *get_strides(PyObject *self, void *) {
    return steps(handle_of(self), via_array_byte_strides(handle_of(self)));
}

PyObject *get_element_strides(PyObject *self, void *) {
    return steps(handle_of(self), via_array_strides(handle_of(self)));
}

PyObject *get_dtype(PyObject *self, void *) { return dtype_object(via_array_dtype(handle_of(self))); }
PyObject *get_dtype_name(PyObject *self, void *) { return dtype_name(via_array_dtype(handle_of(self))); }
PyObject *get_ndim(PyObject *self, void *) { return PyLong_FromLong(via_array_ndim(handle_of(self))); }
PyObject *get_size(PyObject *self, void *) { return PyLong_FromLongLong(via_array_size(handle_of(self))); }
PyObject *get_nbytes(PyObject *self, void *) { return PyLong_FromLongLong(via_array_nbytes(handle_of(self))); }

// For elements narrower than a byte, returns 1 if each has a byte, otherwise the fraction.
PyObject *get_itemsize(PyObject *self, void *) {
    via_array *array = handle_of(self);
    int64_t bits = via_dtype_bits(via_array_dtype(array));
    if (bits % 8 != 0 && (via_array_flags(array) & VIA_ARRAY_SUBBYTE_PADDED) == 0) {
        return PyFloat_FromDouble(static_cast<double>(bits) / 8);
    }
    return PyLong_FromLongLong((bits + 7) / 8);
}

PyObject *get_device(PyObject *self, void *) {
    via_array *array = handle_of(self);
    return device_name(via_array_device_type(array), via_array_device_id(array));
}

template <int32_t flag>
PyObject *get_flag(PyObject *self, void *) {
    return boolean((via_array_flags(handle_of(self)) & flag) != 0);
}

PyObject *get_aligned(PyObject *self, void *) {
    return boolean((via_array_flags(handle_of(self)) & VIA_ARRAY_MISALIGNED) == 0);
}

PyObject *get_ready(PyObject *self, void *) { return boolean(via_array_is_ready(handle_of(self)) != 0); }

template <int32_t order>
PyObject *get_contiguous(PyObject *self, void *) {
    return boolean(via_array_is_contiguous(handle_of(self), order) != 0);
}

PyObject *get_owner(PyObject *self, void *) {
    BorrowedMemory *memory = borrowed_memory_of(handle_of(self));
    if (memory == nullptr || memory->owner == nullptr) {
        return none();
    }
    Py_INCREF(memory->owner);
    return memory->owner;
}

PyObject *get_t(PyObject *self, void *) { return view_of(self, via_array_permute, nullptr); }

const char *origin_text(Origin origin) {
    constexpr const char *kTexts[] = {
        "C code",         "nobody",         "viaduct", "viaduct", "a DLPack tensor", "a buffer", "an array interface",
        "an Arrow array", "another process"};
    static_assert(std::size(kTexts) == static_cast<size_t>(Origin::Process) + 1, "one text for each origin");
    return kTexts[static_cast<int>(origin)];
}

PyObject *owner_text(PyObject *self) {
    BorrowedMemory *memory = borrowed_memory_of(handle_of(self));
    if (memory == nullptr) {
        return PyUnicode_FromString(origin_text(origin_of(self)));
    }
    if (memory->owner == nullptr) {
        return PyUnicode_FromString("a release function");
    }
    Ref hold;
    return PyUnicode_FromString(type_name(memory->owner, &hold));
}

}  // namespace

PyGetSetDef kInspectGetters[] = {
    {"ptr", get_ptr, nullptr, "Returns the address of the element with index 0 on every axis.", nullptr},
    {"shape", get_shape, nullptr, "Returns the extent of each axis.", nullptr},
    {"strides", get_strides, nullptr,
     "Returns the step along each axis in bytes, as NumPy counts; None if some step is not whole bytes. The "
     "strides of the other languages count elements: see element_strides.",
     nullptr},
    {"element_strides", get_element_strides, nullptr,
     "Returns the step along each axis in elements, as DLPack and the other languages count; None if some step "
     "is not whole elements.",
     nullptr},
    {"dtype", get_dtype, nullptr,
     "Returns a numpy.dtype if NumPy (or ml_dtypes) is installed and has the type, otherwise the name.", nullptr},
    {"dtype_name", get_dtype_name, nullptr, "Returns the name of the element type: \"float32\", \"record12\".",
     nullptr},
    {"ndim", get_ndim, nullptr, "Returns the number of axes.", nullptr},
    {"size", get_size, nullptr, "Returns the number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Returns the bytes of one element; a fraction where elements share bytes.",
     nullptr},
    {"nbytes", get_nbytes, nullptr, "Returns the bytes of all elements, as a dense array would hold them.", nullptr},
    {"device", get_device, nullptr, "Returns the kind of memory: \"cpu\", \"cuda:0\", \"pinned\", \"managed\".",
     nullptr},
    {"readonly", get_flag<VIA_ARRAY_READ_ONLY>, nullptr, "Returns whether writes through this array are refused.",
     nullptr},
    {"copied", get_flag<VIA_ARRAY_COPIED>, nullptr,
     "Returns whether a DLPack import copied, so that writes do not reach the original; False for what asarray() "
     "copies.",
     nullptr},
    {"aligned", get_aligned, nullptr, "Returns whether every element starts at a multiple of its natural alignment.",
     nullptr},
    {"ready", get_ready, nullptr, "Returns whether no known work still writes the content.", nullptr},
    {"c_contiguous", get_contiguous<VIA_ORDER_ROW_MAJOR>, nullptr,
     "Returns whether the array is dense in row-major order.", nullptr},
    {"f_contiguous", get_contiguous<VIA_ORDER_COLUMN_MAJOR>, nullptr,
     "Returns whether the array is dense in column-major order.", nullptr},
    {"contiguous", get_contiguous<VIA_ORDER_ANY>, nullptr,
     "Returns whether the array is dense, whatever the order of the axes.", nullptr},
    {"owner", get_owner, nullptr,
     "Returns the Python object that keeps the memory alive; None where that is no object, as a DLPack tensor.",
     nullptr},
    {"T", get_t, nullptr, "Returns a view with the axes reversed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject *array_repr(PyObject *self) {
    via_array *array = handle_of(self);
    Ref ptr(get_ptr(self, nullptr));
    Ref address(ptr ? PyNumber_ToBase(ptr.get(), 16) : nullptr);  // "%p" writes that of no elements as "0x(nil)"
    Ref shape(get_shape(self, nullptr));
    Ref name(get_dtype_name(self, nullptr));
    Ref device(get_device(self, nullptr));
    Ref owner(owner_text(self));
    if (!address || !shape || !name || !device || !owner) {
        return nullptr;
    }
    bool read_only = (via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0;
    return PyUnicode_FromFormat("<viaduct.Array at %U, shape %S, %U, %U%s, owned by %U>", address.get(), shape.get(),
                                name.get(), device.get(), read_only ? ", read-only" : "", owner.get());
}

}  // namespace viapy
