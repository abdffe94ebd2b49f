#include "support/errors.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace viapy {
namespace {

struct Kind {
    int32_t status;
    const char *name;
    PyObject **builtin;
    const char *doc;
};

// The table of statuses. A status that is missing becomes viaduct.Error.
const Kind kKinds[] = {
    {VIA_ERROR_INVALID_ARGUMENT, "viaduct.InvalidArgumentError", &PyExc_ValueError,
     "An argument is out of range, missing, or contradicts another."},
    {VIA_ERROR_DTYPE, "viaduct.DTypeError", &PyExc_TypeError,
     "An element type is unknown or not the expected one, or an argument has the wrong type."},
    {VIA_ERROR_SHAPE, "viaduct.ShapeError", &PyExc_ValueError, "A shape is malformed, or not the expected one."},
    {VIA_ERROR_INDEX, "viaduct.OutOfRangeError", &PyExc_IndexError, "An axis or an index lies outside the array."},
    {VIA_ERROR_OVERFLOW, "viaduct.ExtentOverflowError", &PyExc_OverflowError,
     "A number, or a product or sum of extents, does not fit."},
    {VIA_ERROR_OUT_OF_MEMORY, "viaduct.OutOfMemoryError", &PyExc_MemoryError,
     "Memory of some kind could not be allocated."},
    {VIA_ERROR_READ_ONLY, "viaduct.ReadOnlyError", &PyExc_ValueError, "The destination is read-only."},
    {VIA_ERROR_OVERLAP, "viaduct.OverlapError", &PyExc_ValueError,
     "Source and destination, or elements of a destination, share bytes."},
    {VIA_ERROR_NEEDS_COPY, "viaduct.NeedsCopyError", &PyExc_ValueError,
     "Only a copy could do it, and a copy was not allowed."},
    {VIA_ERROR_EXCHANGE, "viaduct.ExchangeError", &PyExc_BufferError,
     "The protocol cannot describe this array, or the imported object breaks its rules."},
    {VIA_ERROR_VERSION, "viaduct.VersionError", &PyExc_BufferError,
     "The version of a library, struct or protocol is not supported."},
    {VIA_ERROR_DEVICE, "viaduct.DeviceError", &PyExc_RuntimeError,
     "The device does not exist, or is not the device of the memory."},
    {VIA_ERROR_POINTER, "viaduct.PointerError", &PyExc_ValueError,
     "The address is unknown, unreadable, or ends before the array does."},
    {VIA_ERROR_UNSUPPORTED, "viaduct.UnsupportedError", &PyExc_NotImplementedError,
     "This build, machine or driver does not support it."},
    {VIA_ERROR_CUDA, "viaduct.CudaError", &PyExc_RuntimeError, "The CUDA driver refused; `code` is its CUresult."},
    {VIA_ERROR_STREAM_CAPTURE, "viaduct.StreamCaptureError", &PyExc_RuntimeError,
     "The operation cannot be captured into a graph; no memory was accessed."},
    {VIA_ERROR_FORKED, "viaduct.ForkedError", &PyExc_RuntimeError,
     "CUDA was used before fork; the child cannot use it."},
    {VIA_ERROR_WOULD_DEADLOCK, "viaduct.WouldDeadlockError", &PyExc_RuntimeError, "Waiting here could never end."},
    {VIA_ERROR_CANCELLED, "viaduct.CancelledError", &PyExc_RuntimeError, "The task was cancelled."},
    {VIA_ERROR_IO, "viaduct.FileError", &PyExc_OSError, "The operating system refused; `errno` and `code` say why."},
    {VIA_ERROR_FORMAT, "viaduct.FormatError", &PyExc_ValueError, "A file does not have the format it claims."},
    {VIA_ERROR_CALLBACK, "viaduct.CallbackError", &PyExc_RuntimeError, "A callback of the caller reported failure."},
    {VIA_ERROR_INTERNAL, "viaduct.InternalError", &PyExc_RuntimeError,
     "A bug of this library: please report the text."},
};
// Subclasses of FileError by errno, which are also Python's own exceptions. They are not exported by the package, where
// they would hide Python's.
struct FileKind {
    int code;
    const char *name;
    PyObject **builtin;
    PyObject *made;
};
FileKind g_file_kinds[] = {
    {ENOENT, "viaduct._viaduct.FileNotFoundError", &PyExc_FileNotFoundError, nullptr},
    {EACCES, "viaduct._viaduct.PermissionError", &PyExc_PermissionError, nullptr},
    {EPERM, "viaduct._viaduct.PermissionError", &PyExc_PermissionError, nullptr},
    {EEXIST, "viaduct._viaduct.FileExistsError", &PyExc_FileExistsError, nullptr},
    {EISDIR, "viaduct._viaduct.IsADirectoryError", &PyExc_IsADirectoryError, nullptr},
    {ENOTDIR, "viaduct._viaduct.NotADirectoryError", &PyExc_NotADirectoryError, nullptr},
};

constexpr int kKindCount = sizeof kKinds / sizeof kKinds[0];

PyObject *g_base = nullptr;
PyObject *g_classes[kKindCount + 1] = {};  // by status

PyObject *class_of(int32_t status) {
    PyObject *found = status > 0 && status <= kKindCount ? g_classes[status] : nullptr;
    return found != nullptr ? found : g_base;
}

PyObject *class_of(int32_t status, int32_t code) {
    for (const FileKind &kind : g_file_kinds) {
        if (status == VIA_ERROR_IO && kind.code == code) {
            return kind.made;
        }
    }
    return class_of(status);
}

const char *bare_name(const char *qualified) { return std::strrchr(qualified, '.') + 1; }

bool add_class(PyObject *module, const char *name, const char *doc, PyObject *bases, PyObject **out_class) {
    *out_class = PyErr_NewExceptionWithDoc(name, doc, bases, nullptr);
    return *out_class != nullptr && PyModule_AddObjectRef(module, bare_name(name), *out_class) == 0;
}

const char kFileKindDoc[] = "A FileError that is also the exception which Python has for that errno.";

// Shares a class between errnos of one kind.
bool add_file_kinds(PyObject *module) {
    const FileKind *last = nullptr;
    for (FileKind &kind : g_file_kinds) {
        if (last != nullptr && last->builtin == kind.builtin) {
            kind.made = last->made;
            continue;
        }
        Ref bases(PyTuple_Pack(2, g_classes[VIA_ERROR_IO], *kind.builtin));
        if (!bases || !add_class(module, kind.name, kFileKindDoc, bases.get(), &kind.made)) {
            return false;
        }
        last = &kind;
    }
    return true;
}

bool set_number(PyObject *object, const char *name, long value) {
    Ref number(PyLong_FromLong(value));
    return number && PyObject_SetAttrString(object, name, number.get()) == 0;
}

// OSError takes errno as its first argument.
PyObject *make_exception(PyObject *kind, int32_t status, int32_t code, PyObject *text) {
    if (status == VIA_ERROR_IO) {
        return PyObject_CallFunction(kind, "iO", static_cast<int>(code), text);
    }
    return PyObject_CallFunctionObjArgs(kind, text, nullptr);
}

PyObject *set_exception(PyObject *kind, int32_t status, int32_t code, Ref text) {
    if (!text) {
        return nullptr;
    }
    Ref exception(make_exception(kind, status, code, text.get()));
    if (exception && set_number(exception.get(), "status", status) && set_number(exception.get(), "code", code)) {
        PyErr_SetObject(kind, exception.get());
    }
    return nullptr;
}

// Returns whether a callback written in Python has set its own exception, which says more than the status.
bool callback_has_raised(int32_t status) { return status == VIA_ERROR_CALLBACK && PyErr_Occurred() != nullptr; }

PyObject *raise_as(PyObject *kind, int32_t status) {
    if (callback_has_raised(status)) {
        return nullptr;
    }
    int32_t code = via_last_error_code();
    return set_exception(kind, status, code, Ref(PyUnicode_FromString(via_last_error())));
}

PyObject *buffer_class_of(int32_t status) {
    PyObject *kind = class_of(status);
    bool keeps = status == VIA_ERROR_OUT_OF_MEMORY || PyObject_IsSubclass(kind, PyExc_BufferError) == 1;
    return keeps ? kind : class_of(VIA_ERROR_EXCHANGE);
}

}  // namespace

bool add_exceptions(PyObject *module) {
    const char *doc =
        "The base of every exception of this package. "
        "`status` is the library's status number; `code` is the errno or CUresult behind it, 0 if there is none.";
    if (!add_class(module, "viaduct.Error", doc, PyExc_Exception, &g_base) || !set_number(g_base, "status", -1) ||
        !set_number(g_base, "code", 0)) {
        return false;
    }
    for (const Kind &kind : kKinds) {
        Ref bases(PyTuple_Pack(2, g_base, *kind.builtin));
        PyObject *&made = g_classes[kind.status];
        if (!bases || !add_class(module, kind.name, kind.doc, bases.get(), &made) ||
            !set_number(made, "status", kind.status)) {
            return false;
        }
    }
    return add_file_kinds(module);
}

namespace {

// Shortens containers by reprlib, in viaduct._interop.
Ref text_of(PyObject *object) {
    return is_container(object) ? call_interop("shorten", object) : Ref(PyObject_Repr(object));
}

}  // namespace

Ref shown(PyObject *object) {
    constexpr Py_ssize_t longest = 200;
    PyErr_Clear();
    Ref text = text_of(object);
    if (text && PyUnicode_GetLength(text.get()) > longest) {
        Ref start(PyUnicode_Substring(text.get(), 0, longest));
        text = Ref(start ? PyUnicode_FromFormat("%U...", start.get()) : nullptr);
    }
    if (!text) {
        PyErr_Clear();
        return Ref::share(reinterpret_cast<PyObject *>(Py_TYPE(object)));
    }
    return text;
}

PyObject *raise_status(int32_t status) { return raise_as(class_of(status, via_last_error_code()), status); }

PyObject *raise_exchange(int32_t status) { return raise_as(buffer_class_of(status), status); }

PyObject *raise(int32_t status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    Ref text(PyUnicode_FromFormatV(format, values));
    va_end(values);
    return set_exception(class_of(status), status, 0, std::move(text));
}

PyObject *raise_buffer(int32_t status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    Ref text(PyUnicode_FromFormatV(format, values));
    va_end(values);
    return set_exception(buffer_class_of(status), status, 0, std::move(text));
}

PyObject *raise_type(const char *function, const char *argument, PyObject *found, const char *expected) {
    Ref hold;
    return raise(VIA_ERROR_DTYPE, "%s: %s is of type %s; expected %s", function, argument, type_name(found, &hold),
                 expected);
}

PyObject *reword_type(const char *function, const char *argument, PyObject *found, const char *expected) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        raise_type(function, argument, found, expected);
    }
    return nullptr;
}

PyObject *raise_with_reason(int32_t status, const char *function, const char *argument, const char *predicate) {
    const Ref reason = take_exception();
    return raise(status, "%s: %s %s %S", function, argument, predicate, reason.get());
}

}  // namespace viapy
