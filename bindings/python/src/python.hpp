// What every file of the hand-written layer stands on: the limited C API of Python, and owning references.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <utility>

#include "viaduct/viaduct.h"

namespace viapy {

// One reference to a Python object, given back when the scope ends. Only for threads that hold the GIL.
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
    PyObject *give() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    PyObject *object_ = nullptr;
};

inline PyObject *none() {
    Py_INCREF(Py_None);
    return Py_None;
}

// A function as a type's slot has it.
template <class Function>
void *slot(Function *function) {
    return reinterpret_cast<void *>(function);
}

// The functions of a method table have other types than the table's, by the flags beside them.
template <class Function>
PyCFunction method(Function *function) {
    return reinterpret_cast<PyCFunction>(slot(function));
}

// Python's own; what it prints may have no end, since it may hold itself many times over.
inline bool is_container(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object);
}

inline PyObject *boolean(bool value) { return PyBool_FromLong(value ? 1 : 0); }

// Takes the value over. false if that is NULL, for whoever has just made it.
inline bool set_item(PyObject *dict, const char *key, PyObject *value) {
    Ref owned(value);
    return owned && PyDict_SetItemString(dict, key, owned.get()) == 0;
}

// "ndarray" for an instance of numpy.ndarray; kept by `hold`.
inline const char *type_name(PyObject *object, Ref *hold) {
    *hold = Ref(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__name__"));
    const char *name = *hold ? PyUnicode_AsUTF8AndSize(hold->get(), nullptr) : nullptr;
    if (name == nullptr) {
        PyErr_Clear();
        return "object";
    }
    return name;
}

// The exception that is set, kept aside for a scope in which other Python code may run.
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

// Lets go of something where an exception may be on its way: a deleter that is called may be Python code.
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
