#include "interop/buffer.hpp"

#include <cstring>
#include <new>

#include "support/borrowed_memory.hpp"
#include "support/dtypes.hpp"
#include "support/wait.hpp"

namespace viapy {
namespace {

struct Format {
    int32_t dtype;
    const char *text;
};

// int64 is 'l', as NumPy writes it here; NumPy treats 'q' as another type of the same size.
const Format kFormats[] = {
    {VIA_BOOL, "?"},    {VIA_INT8, "b"},    {VIA_INT16, "h"},      {VIA_INT32, "i"},       {VIA_INT64, "l"},
    {VIA_UINT8, "B"},   {VIA_UINT16, "H"},  {VIA_UINT32, "I"},     {VIA_UINT64, "L"},      {VIA_FLOAT16, "e"},
    {VIA_FLOAT32, "f"}, {VIA_FLOAT64, "d"}, {VIA_COMPLEX64, "Zf"}, {VIA_COMPLEX128, "Zd"},
};

// Exports records as bytes with a name. Unnamed padding is not part of a value: NumPy would not copy it, and the struct
// module would compare all records equal. The text lives as long as the view.
char *record_format(int32_t dtype) {
    constexpr size_t room = 32;
    char *text = new (std::nothrow) char[room];
    if (text != nullptr) {
        PyOS_snprintf(text, room, "T{%dx:bytes:}", -dtype);
    }
    return text;
}

const char *format_of(int32_t dtype) {
    for (const Format &format : kFormats) {
        if (format.dtype == dtype) {
            return format.text;
        }
    }
    return nullptr;
}

bool refuse(const char *reason) {
    raise(VIA_ERROR_EXCHANGE, "Array: %s", reason);
    return false;
}

bool is_host(via_array *array) { return via_array_device_type(array) != VIA_DEVICE_CUDA; }

bool is_exportable_as_buffer(via_array *array, int flags) {
    int32_t dtype = via_array_dtype(array);
    if (!is_host(array)) {
        return refuse("the array is in device memory; expected host memory: use copy(device=\"cpu\") or DLPack");
    }
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && (via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0) {
        return refuse("the array is read-only; expected one that a writable buffer may change: use copy()");
    }
    if (dtype >= 0 && format_of(dtype) == nullptr) {
        char name[kDtypeNameCapacity];
        raise(VIA_ERROR_EXCHANGE,
              "Array: dtype is %s; expected one with a format of the buffer protocol: use DLPack, .numpy() with "
              "ml_dtypes installed, or .view() as an integer type of that size",
              dtype_text(dtype, name));
        return false;
    }
    return true;
}

bool has_order(via_array *array, int flags) {
    bool c = via_array_is_contiguous(array, VIA_ORDER_ROW_MAJOR) != 0;
    bool f = via_array_is_contiguous(array, VIA_ORDER_COLUMN_MAJOR) != 0;
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c) {
        return refuse("the array is strided; expected row-major memory: use copy()");
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f) {
        return refuse("the array is not column-major; expected column-major memory: use a.T.copy().T");
    }
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f) {
        return refuse("the array is strided; expected contiguous memory: use copy()");
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c) {
        return refuse("the array is strided; expected memory without strides: use copy()");
    }
    return true;
}

// Returns the array's own extents or strides, which the view keeps alive.
static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
Py_ssize_t *borrowed(const int64_t *values) { return reinterpret_cast<Py_ssize_t *>(const_cast<int64_t *>(values)); }

// A native or little-endian format of one letter, and the bytes that its items may have: long ones have 4 or 8.
struct Letter {
    char letter;
    int32_t code;
    int32_t nbytes;
    int32_t or_nbytes = 0;
};

constexpr Letter kLetters[] = {
    {'?', kBool, 1}, {'b', kInt, 1},  {'h', kInt, 2},  {'i', kInt, 4},   {'l', kInt, 8, 4}, {'q', kInt, 8},
    {'n', kInt, 8},  {'c', kUInt, 1}, {'B', kUInt, 1}, {'H', kUInt, 2},  {'I', kUInt, 4},   {'L', kUInt, 8, 4},
    {'Q', kUInt, 8}, {'N', kUInt, 8}, {'P', kUInt, 8}, {'e', kFloat, 2}, {'f', kFloat, 4},  {'d', kFloat, 8},
};

// nullptr for a letter of no number.
const Letter *find_letter(char letter) {
    for (const Letter &known : kLetters) {
        if (known.letter == letter) {
            return &known;
        }
    }
    return nullptr;
}

// Returns 0 if the item size contradicts the format. That of any size is "B" where ctypes has no format: of packed
// structures, and of unions.
int32_t dtype_of_letter(const Letter &letter, Py_ssize_t itemsize) {
    const bool fits = itemsize == letter.nbytes || (letter.or_nbytes != 0 && itemsize == letter.or_nbytes);
    return fits ? pack_dtype(letter.code, itemsize * 8) : letter.letter == 'B' ? via_dtype_record(itemsize) : 0;
}

int32_t dtype_of_complex(char half, Py_ssize_t itemsize) {
    const bool fits = (half == 'f' && itemsize == 8) || (half == 'd' && itemsize == 16);
    return fits ? pack_dtype(kComplex, itemsize * 8) : 0;
}

// Objects are references, which no other library may copy. Names in a format stand between colons.
bool holds_objects(const char *format) {
    bool in_name = false;
    for (; *format != '\0'; ++format) {
        in_name ^= *format == ':';
        if (!in_name && (*format == 'O' || *format == '&')) {
            return true;
        }
    }
    return false;
}

int32_t dtype_of_compound(const char *format, Py_ssize_t itemsize) {
    bool is_bytes = *format == 'T' || (*format >= '0' && *format <= '9') || *format == 'x' || *format == 's';
    bool many = format[0] != '\0' && format[1] != '\0';
    return (is_bytes || many) && !holds_objects(format) ? via_dtype_record(itemsize) : 0;
}

int32_t dtype_of_format(const char *format, Py_ssize_t itemsize) {
    if (format == nullptr) {
        return itemsize == 1 ? VIA_UINT8 : via_dtype_record(itemsize);
    }
    bool foreign_order = (*format == '>' || *format == '!') && itemsize > 1;
    if (std::strchr("@=<>!^|", *format) != nullptr && *format != '\0') {
        ++format;
    }
    // Handles "Zg", a complex longdouble, like the longdouble itself.
    if (*format == 'Z' && format[1] != '\0' && format[2] == '\0') {
        return foreign_order ? 0 : dtype_of_complex(format[1], itemsize);
    }
    if (foreign_order) {
        return 0;
    }
    const Letter *letter = *format != '\0' && format[1] == '\0' ? find_letter(*format) : nullptr;
    return letter != nullptr ? dtype_of_letter(*letter, itemsize) : dtype_of_compound(format, itemsize);
}

PyObject *wrap_view(const Py_buffer &view, int32_t dtype, BorrowedMemory *memory) {
    int32_t flags = VIA_WRAP_BYTE_STRIDES | VIA_WRAP_UNCHECKED | (view.readonly ? VIA_WRAP_READ_ONLY : 0);
    const int64_t *strides = view.ndim > 0 ? reinterpret_cast<const int64_t *>(view.strides) : nullptr;
    via_array *array = adopt_borrowed(memory, [&](via_release_fn release, void *context, via_array **out) {
        return via_wrap(view.buf, dtype, view.ndim, reinterpret_cast<const int64_t *>(view.shape), strides,
                        VIA_DEVICE_CPU, 0, flags, release, context, out);
    });
    return array != nullptr ? new_array(array, Origin::Buffer) : nullptr;
}

// Returns true for extents and products that the library refuses itself.
bool holds_all(const Py_buffer &view) {
    int64_t nbytes = view.itemsize;
    for (int i = 0; i < view.ndim && i < VIA_MAX_NDIM && view.shape != nullptr; ++i) {
        if (view.shape[i] < 0 || __builtin_mul_overflow(nbytes, view.shape[i], &nbytes)) {
            return true;
        }
    }
    return nbytes <= view.len;
}

PyObject *import_view(const char *function, PyObject *object, Py_buffer *view) {
    int32_t dtype = dtype_of_format(view->format, view->itemsize);
    BorrowedMemory *memory = nullptr;
    if (dtype == 0 || via_dtype_is_valid(dtype) == 0) {
        raise(VIA_ERROR_DTYPE,
              "%s: x is a buffer of format \"%s\"; expected numbers or plain bytes in the machine's byte order",
              function, view->format != nullptr ? view->format : "B");
    } else if (view->suboffsets != nullptr) {
        raise(VIA_ERROR_EXCHANGE, "%s: x is a buffer of pointers (suboffsets); expected strides", function);
    } else if (!holds_all(*view)) {
        raise(VIA_ERROR_EXCHANGE, "%s: x is a buffer of %zd bytes; expected those of all its elements", function,
              view->len);
    } else {
        memory = borrow_memory(object, nullptr, view);
    }
    if (memory == nullptr) {
        ErrorScope errors;
        PyBuffer_Release(view);
        delete view;
        return nullptr;
    }
    return wrap_view(*view, dtype, memory);
}

// Python 3.12 adds these two methods to every type with buffers. Older versions need them for type checkers, whose
// Buffer protocol they form, and for isinstance(a, Buffer).
PyObject *buffer_method(PyObject *self, PyObject *flags) {
    int32_t asked = 0;
    Py_buffer view;
    if (!parse_int32("Array.__buffer__", "flags", flags, &asked) || PyObject_GetBuffer(self, &view, asked) != 0) {
        return nullptr;
    }
    PyBuffer_Release(&view);
    return PyMemoryView_FromObject(self);
}

PyObject *release_buffer_method(PyObject *, PyObject *view) { return PyObject_CallMethod(view, "release", nullptr); }

}  // namespace

int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    via_array *array = handle_of(self);
    view->obj = nullptr;
    if (!is_exportable_as_buffer(array, flags) || !has_order(array, flags) || !wait_until_ready(array)) {
        return -1;
    }
    int32_t dtype = via_array_dtype(array);
    char *owned_format = dtype < 0 ? record_format(dtype) : nullptr;
    if (dtype < 0 && owned_format == nullptr) {
        PyErr_NoMemory();
        return -1;
    }
    const char *format = dtype < 0 ? owned_format : format_of(dtype);
    view->buf = via_array_data(array);
    view->len = via_array_nbytes(array);
    view->itemsize = via_dtype_bits(dtype) / 8;
    view->readonly = (via_array_flags(array) & VIA_ARRAY_READ_ONLY) != 0;
    view->ndim = (flags & PyBUF_ND) != 0 ? via_array_ndim(array) : 1;  // plain bytes: hashlib refuses more axes
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char *>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) != 0 ? borrowed(via_array_shape(array)) : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? borrowed(via_array_byte_strides(array)) : nullptr;
    view->suboffsets = nullptr;
    view->internal = owned_format;
    Py_INCREF(self);
    view->obj = self;
    return 0;
}

void release_buffer(PyObject *, Py_buffer *view) { delete[] static_cast<char *>(view->internal); }

Outcome try_buffer(const char *function, PyObject *object, PyObject **out_array) {
    if (!PyObject_CheckBuffer(object)) {
        return Outcome::Absent;
    }
    auto *view = new (std::nothrow) Py_buffer;
    if (view == nullptr) {
        PyErr_NoMemory();
        return Outcome::Failed;
    }
    if (PyObject_GetBuffer(object, view, PyBUF_FULL_RO) != 0) {
        delete view;
        return Outcome::Failed;
    }
    *out_array = import_view(function, object, view);
    return *out_array != nullptr ? Outcome::Imported : Outcome::Failed;
}

PyMethodDef kBufferMethods[] = {
    {"__buffer__", buffer_method, METH_O,
     "__buffer__($self, flags, /)\n--\n\n"
     "Returns a memoryview of the array."},
    {"__release_buffer__", release_buffer_method, METH_O,
     "__release_buffer__($self, buffer, /)\n--\n\n"
     "Releases such a memoryview."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace viapy
