// The type viaduct.File. Its methods are written in Python, in viaduct._file: beside a disk that costs nothing.
#include "errors.hpp"
#include "order.hpp"

namespace viapy {

const char kFileDoc[] =
    "An open file: elements and nothing else, or NumPy's .npy.\n\n"
    "Made by open(); a context manager. Offsets are in bytes, from the first element on. Slices are windows: files of\n"
    "their own that are read, written and mapped whole, without what lies between.";

namespace {

// viaduct._file.NAME(self, *args, **kwargs)
PyObject *forward(const char *name, PyObject *self, PyObject *args, PyObject *kwargs) {
    Ref module(PyImport_ImportModule("viaduct._file"));
    Ref function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    Ref first(PyTuple_Pack(1, self));
    Ref all(function && first ? PySequence_Concat(first.get(), args) : nullptr);
    return all ? PyObject_Call(function.get(), all.get(), kwargs) : nullptr;
}

PyObject *array(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("array", self, args, kwargs); }
PyObject *read(PyObject *self, PyObject *args, PyObject *kwargs) { return forward("read", self, args, kwargs); }
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
    end_handle(HandleKind::File, self);
    return none();
}

PyObject *enter(PyObject *self, PyObject *) {
    Py_INCREF(self);
    return self;
}

PyObject *exit(PyObject *self, PyObject *) { return close(self, nullptr); }

PyObject *keep(PyObject *self, PyObject *told) {
    Py_INCREF(told);
    Ref before(std::exchange(kept_of(self), told));
    return none();
}

PyObject *get_told(PyObject *self, void *) {
    PyObject *told = kept_of(self) != nullptr ? kept_of(self) : Py_None;
    Py_INCREF(told);
    return told;
}

// viaduct._file.NAME(self), for an attribute.
PyObject *get(PyObject *self, void *name) {
    Ref nothing(PyTuple_New(0));
    return nothing ? forward(static_cast<const char *>(name), self, nothing.get(), nullptr) : nullptr;
}

PyObject *repr(PyObject *self) { return get(self, const_cast<char *>("describe")); }

PyObject *get_closed(PyObject *self, void *) { return boolean(handle_in(self) == nullptr); }

PyMethodDef kMethods[] = {
    {"array", method(array), METH_VARARGS | METH_KEYWORDS,
     "array($self, shape=None, dtype=None, offset=0)\n--\n\n"
     "The file's pages as an array, without a copy; nothing is read until it is touched.\n\n"
     "Shape and dtype are those of the header or of open(), unless given; one extent may be -1. Read-only unless the "
     "mode says otherwise. Do not touch it once the file has been cut short: read() reports that instead."},
    {"read", method(read), METH_VARARGS | METH_KEYWORDS,
     "read($self, dst=None, offset=0, *, shape=None, dtype=None, device='cpu', stream=None)\n--\n\n"
     "Reads an array, of any layout and anywhere, and returns it; a new one on `device` if none is given.\n\n"
     "After a stream's work so far; without one, after the legacy stream's. Ctrl-C ends it. Of a .npy file all is "
     "read, "
     "unless shape, dtype or offset say which part a new array has."},
    {"write", method(write), METH_VARARGS | METH_KEYWORDS,
     "write($self, src, offset=0, *, stream=None)\n--\n\n"
     "Writes the elements of an array, of any layout and anywhere; ordered as read() is."},
    {"read_submit", method(read_submit), METH_VARARGS | METH_KEYWORDS,
     "read_submit($self, dst, offset=0, *, stream=None)\n--\n\n"
     "Starts a read, after the stream's work so far if one is given, and returns at once with a Task."},
    {"write_submit", method(write_submit), METH_VARARGS | METH_KEYWORDS,
     "write_submit($self, src, offset=0, *, stream=None)\n--\n\n"
     "Starts a write, after the stream's work so far if one is given, and returns at once with a Task."},
    {"close", close, METH_NOARGS,
     "close($self)\n--\n\nLets go of the file; mapped arrays and transfers under way keep what they need."},
    {"__enter__", enter, METH_NOARGS, "__enter__($self)\n--\n\nThe file itself."},
    {"__exit__", exit, METH_VARARGS, "__exit__($self, *args)\n--\n\nCloses the file."},
    {"_keep", keep, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kGetters[] = {
    {"shape", get, nullptr, "The shape of all its elements.", const_cast<char *>("shape")},
    {"dtype", get, nullptr, "The element type: a numpy.dtype where NumPy has one, else its name.",
     const_cast<char *>("dtype")},
    {"nbytes", get, nullptr, "The bytes of the whole file, as it is now.", const_cast<char *>("nbytes")},
    {"order", get, nullptr, "The order of its elements: 'C' or 'F'.", const_cast<char *>("order")},
    {"closed", get_closed, nullptr, "Whether it has been closed.", nullptr},
    {"_told", get_told, nullptr, nullptr, nullptr},
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
