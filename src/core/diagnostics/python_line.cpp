#include "core/diagnostics/python_line.hpp"

#include <dlfcn.h>

#include <cstdio>

namespace via {
namespace {

// Python's objects, of which only addresses are handled here. The functions are of its stable ABI.
struct Object;

struct Python {
    Object *(*PyGILState_GetThisThreadState)();
    Object *(*PyThreadState_GetUnchecked)();
    Object *(*PyEval_GetFrame)();
    Object *(*PyFrame_GetCode)(Object *frame);
    int (*PyFrame_GetLineNumber)(Object *frame);
    Object *(*PyObject_GetAttrString)(Object *object, const char *name);
    const char *(*PyUnicode_AsUTF8AndSize)(Object *text, ptrdiff_t *out_size);
    void (*Py_DecRef)(Object *object);
    void (*PyErr_Clear)();
};

template <class Function>
bool find(const char *name, Function *out_function) {
    *out_function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return *out_function != nullptr;
}

// False in a process without Python.
bool find_python(Python *python) {
#define FIND(function) find(#function, &python->function)
    return FIND(PyGILState_GetThisThreadState) && FIND(PyEval_GetFrame) && FIND(PyFrame_GetCode) &&
           FIND(PyFrame_GetLineNumber) && FIND(PyObject_GetAttrString) && FIND(PyUnicode_AsUTF8AndSize) &&
           FIND(Py_DecRef) && FIND(PyErr_Clear) &&
           (FIND(PyThreadState_GetUnchecked) ||
            find("_PyThreadState_UncheckedGet", &python->PyThreadState_GetUnchecked));  // before 3.13
#undef FIND
}

void write_line(const Python &python, Object *frame, char *text, size_t capacity) {
    Object *code = python.PyFrame_GetCode(frame);
    Object *file = python.PyObject_GetAttrString(code, "co_filename");
    const char *name = file != nullptr ? python.PyUnicode_AsUTF8AndSize(file, nullptr) : nullptr;
    if (name != nullptr) {
        std::snprintf(text, capacity, "%s:%d", name, python.PyFrame_GetLineNumber(frame));
    } else {
        python.PyErr_Clear();
    }
    python.Py_DecRef(file);  // which may be NULL
    python.Py_DecRef(code);
}

}  // namespace

void find_python_line(char *text, size_t capacity) {
    text[0] = '\0';
    Python python{};
    if (!find_python(&python)) {
        return;
    }
    // PyGILState_Check says yes to all once there have been other interpreters.
    const Object *own = python.PyGILState_GetThisThreadState();
    if (own == nullptr || own != python.PyThreadState_GetUnchecked()) {
        return;
    }
    if (Object *frame = python.PyEval_GetFrame(); frame != nullptr) {
        write_line(python, frame, text, capacity);
    }
}

}  // namespace via
