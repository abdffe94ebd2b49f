// Python's limited C API, and owning references.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <utility>

#include "viaduct/viaduct.h"

namespace viapy {

// Owns one reference to a Python object. Requires the GIL.
class Ref {
public:
    Ref() = default;
    explicit Ref(PyObject *owned) : object_(owned) {}
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref &operator=(Ref &&other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }

    static Ref share(PyObject *borrowed) {
        Py_XINCREF(borrowed);
        return Ref(borrowed);
    }
    PyObject *get() const { return object_; }
    PyObject *release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    PyObject *object_ = nullptr;
};

// Owns one reference to a handle of the library.
template <class Handle, void (*kRelease)(Handle *)>
class Owned {
public:
    explicit Owned(Handle *owned = nullptr) : handle_(owned) {}
    ~Owned() {
        if (handle_ != nullptr) {
            kRelease(handle_);
        }
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    Handle *get() const { return handle_; }
    Handle **out() { return &handle_; }
    Handle *release() { return std::exchange(handle_, nullptr); }
    void reset(Handle *owned) { const Owned before(std::exchange(handle_, owned)); }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    Handle *handle_;
};

using OwnedArray = Owned<via_array, via_array_release>;
using OwnedMemory = Owned<via_memory, via_memory_release>;
using OwnedStream = Owned<via_stream, via_stream_release>;

inline PyObject *none() {
    Py_INCREF(Py_None);
    return Py_None;
}

// Casts a function to the type of a type slot.
template <class Function>
void *slot(Function *function) {
    return reinterpret_cast<void *>(function);
}

// Casts a function to the type of a method table; the flags say its real type.
template <class Function>
PyCFunction method(Function *function) {
    return reinterpret_cast<PyCFunction>(slot(function));
}

// Matches Python's containers, which may contain themselves and print without end.
inline bool is_container(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object);
}

inline PyObject *boolean(bool value) { return PyBool_FromLong(value ? 1 : 0); }

// Consumes the value's reference. False if the value is NULL.
inline bool set_item(PyObject *dict, const char *key, PyObject *value) {
    Ref owned(value);
    return owned && PyDict_SetItemString(dict, key, owned.get()) == 0;
}

// Returns the type's name, such as "ndarray"; `hold` keeps it alive.
inline const char *type_name(PyObject *object, Ref *hold) {
    *hold = Ref(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__name__"));
    const char *name = *hold ? PyUnicode_AsUTF8AndSize(hold->get(), nullptr) : nullptr;
    if (name == nullptr) {
        PyErr_Clear();
        return "object";
    }
    return name;
}

// Returns an attribute. NULL without an exception if there is none (or if reading it raises AttributeError), and for
// None, by which a class says that it lacks a protocol.
inline PyObject *optional_attribute(PyObject *object, const char *name, bool *out_failed) {
    Ref value(PyObject_GetAttrString(object, name));
    *out_failed = !value && !PyErr_ExceptionMatches(PyExc_AttributeError);
    if (!value && !*out_failed) {
        PyErr_Clear();
    }
    return value.get() != Py_None ? value.release() : nullptr;
}

// Calls a function of a module written in Python, which is imported at first use. Empty with an exception set on
// failure.
template <class... Arguments>
Ref call_python(const char *module, const char *name, Arguments *...arguments) {
    Ref imported(PyImport_ImportModule(module));
    Ref function(imported ? PyObject_GetAttrString(imported.get(), name) : nullptr);
    return Ref(function ? PyObject_CallFunctionObjArgs(function.get(), arguments..., nullptr) : nullptr);
}

// The same of viaduct._interop, which knows the objects of other libraries.
template <class... Arguments>
Ref call_interop(const char *name, Arguments *...arguments) {
    return call_python("viaduct._interop", name, arguments...);
}

// Returns the exception that is set, and clears it.
inline Ref take_exception() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Ref hold_type(type), hold_traceback(traceback);
    return Ref(value);
}

// Saves the exception that is set for a scope in which other Python code may run.
class ErrorScope {
public:
    ErrorScope() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~ErrorScope() { PyErr_Restore(type_, value_, traceback_); }
    ErrorScope(const ErrorScope &) = delete;
    ErrorScope &operator=(const ErrorScope &) = delete;

private:
    PyObject *type_;
    PyObject *value_;
    PyObject *traceback_;
};

// Runs work that may call Python code while an exception is set, such as a deleter.
template <class Work>
void keeping_error(Work work) {
    if (PyErr_Occurred() == nullptr) {
        work();
        return;
    }
    ErrorScope errors;
    work();
}

}  // namespace viapy
