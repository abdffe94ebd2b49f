#include "objects/file.hpp"

#include "objects/handles.hpp"

namespace viapy {

const char kFileDoc[] =
    "An open file: raw elements, or NumPy's .npy.\n\n"
    "Made by open(); a context manager. Offsets are in bytes, from the first element on. Slices are windows: "
    "files of their own that are read, written and mapped whole, without the bytes between.";

namespace {

// Calls viaduct._file.NAME(self, *args, **kwargs).
PyObject *forward(const char *name, PyObject *self, PyObject *args, PyObject *kwargs) {
    Ref module(PyImport_ImportModule("viaduct._file"));
    Ref function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    Ref first(PyTuple_Pack(1, self));
    Ref all(function && first ? PySequence_Concat(first.get(), args) : nullptr);
    return all ? PyObject_Call(function.get(), all.get(), kwargs) : nullptr;
}

PyObject *array(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("array", self, args, kwargs); }
PyObject *read(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("read", self, args, kwargs); }
PyObject *astype(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("astype", self, args, kwargs); }
PyObject *write(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("write", self, args, kwargs); }
PyObject *read_submit(PyObject *self, PyObject *args, PyObject *kwargs) {
    return forward("read_submit", self, args, kwargs);
}
PyObject *write_submit(PyObject *self, PyObject *args, PyObject *kwargs) {
    return forward("write_submit", self, args, kwargs);
}

PyObject *window(PyObject *self, PyObject *index) {
    Ref only(PyTuple_Pack(1, index));
    return only ? forward("window", self, only.get(), nullptr) : nullptr;
}

PyObject *close(PyObject *self, PyObject *) {
    release_handle(HandleKind::File, self);
    return none();
}

PyObject *enter(PyObject *self, PyObject *) {
    Py_INCREF(self);
    return self;
}

PyObject *exit(PyObject *self, PyObject *) { return close(self, nullptr); }

PyObject *set_given(PyObject *self, PyObject *given) {
    Py_INCREF(given);
    Ref before(std::exchange(attached_to(self), given));
    return none();
}

PyObject *get_given(PyObject *self, void *) {
    PyObject *given = attached_to(self) != nullptr ? attached_to(self) : Py_None;
    Py_INCREF(given);
    return given;
}

// Calls viaduct._file.NAME(self), for an attribute.
PyObject *get(PyObject *self, void *name) {
    Ref nothing(PyTuple_New(0));
    return nothing ? forward(static_cast<const char *>(name), self, nothing.get(), nullptr) : nullptr;
}

PyObject *repr(PyObject *self) { return get(self, const_cast<char *>("describe")); }

PyObject *get_closed(PyObject *self, void *) { return boolean(handle_in(self) == nullptr); }

PyMethodDef kMethods[] = {
    {"array", method(array), METH_VARARGS | METH_KEYWORDS,
     "array($self, shape=None, dtype=None, offset=0)\n--\n\n"
     "Maps the file's pages as an array, without a copy. The system reads pages on first access.\n\n"
     "Uses shape and dtype of the header or of open() unless given; one extent may be -1. Read-only unless the "
     "mode allows writes. Accessing a truncated mapping kills the process (SIGBUS); read() raises instead."},
    {"read", method(read), METH_VARARGS | METH_KEYWORDS,
     "read($self, dst=None, offset=0, *, shape=None, dtype=None, device='cpu', stream=None, astype=None, "
     "casting='same_kind')\n--\n\n"
     "Reads into an array of any layout, on any device, and returns it; makes a new array on `device` if none "
     "is given.\n\n"
     "Runs after a stream's work so far, the legacy stream's by default. Ctrl-C ends it. Reads all of a .npy "
     "file unless shape, dtype or offset select a part. With `astype`, converts on the way, as astype() does."},
    {"astype", method(astype), METH_VARARGS | METH_KEYWORDS,
     "astype($self, dtype, *, casting='same_kind', overflow='infinity', byteorder='=', scale=None, offset=None, "
     "scale_axis=0)\n--\n\n"
     "Returns a file of the same elements in another dtype, whose reads and writes convert on the way.\n\n"
     "The arguments are those of convert(), with the file's elements in place of src for reads, and of dst for writes; "
     "`byteorder` is theirs."},
    {"write", method(write), METH_VARARGS | METH_KEYWORDS,
     "write($self, src, offset=0, *, stream=None)\n--\n\n"
     "Writes the elements of an array of any layout, on any device; ordered as read() is."},
    {"read_submit", method(read_submit), METH_VARARGS | METH_KEYWORDS,
     "read_submit($self, dst, offset=0, *, stream=None)\n--\n\n"
     "Starts a read, after the stream's work so far if one is given, and returns a Task at once."},
    {"write_submit", method(write_submit), METH_VARARGS | METH_KEYWORDS,
     "write_submit($self, src, offset=0, *, stream=None)\n--\n\n"
     "Starts a write, after the stream's work so far if one is given, and returns a Task at once."},
    {"close", close, METH_NOARGS,
     "close($self)\n--\n\n"
     "Closes the file; mapped arrays and transfers in progress keep what they need."},
    {"__enter__", enter, METH_NOARGS,
     "__enter__($self)\n--\n\n"
     "Returns the file itself."},
    {"__exit__", exit, METH_VARARGS,
     "__exit__($self, *args)\n--\n\n"
     "Closes the file."},
    {"_set_given", set_given, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kGetters[] = {
    {"shape", get, nullptr, "Returns the shape of all elements.", const_cast<char *>("shape")},
    {"dtype", get, nullptr, "Returns the element type: a numpy.dtype if NumPy has one, otherwise its name.",
     const_cast<char *>("dtype")},
    {"nbytes", get, nullptr, "Returns the current size of the whole file in bytes.", const_cast<char *>("nbytes")},
    {"order", get, nullptr, "Returns the order of the elements: 'C' or 'F'.", const_cast<char *>("order")},
    {"closed", get_closed, nullptr, "Returns whether the file has been closed.", nullptr},
    {"_given", get_given, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

PyType_Slot kFileSlots[] = {
    {Py_tp_methods, kMethods},
    {Py_tp_repr, slot(repr)},
    {Py_tp_getset, kGetters},
    {Py_mp_subscript, slot(window)},
    {0, nullptr},
};

}  // namespace viapy
