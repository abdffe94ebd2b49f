#include "core/diagnostics/backtrace.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstddef>
#include <cstdio>

#include "core/diagnostics/log.hpp"

namespace via {
namespace {

// Returns the address that this library is loaded at.
const void *library_base() {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void *>(&prepare_backtraces), &info) != 0 ? info.dli_fbase : nullptr;
}

void report_call(const Dl_info &info, const void *address) {
    const char *file = info.dli_fname != nullptr ? info.dli_fname : "?";
    const auto offset_in = [&](const void *start) {
        return static_cast<long long>(static_cast<const char *>(address) - static_cast<const char *>(start));
    };
    if (info.dli_sname != nullptr) {
        log_line("    %s (%s+0x%llx)", file, info.dli_sname, offset_in(info.dli_saddr));
    } else {
        log_line("    %s (+0x%llx)", file, offset_in(info.dli_fbase));
    }
}

// A Python object; only its address is used. All functions belong to Python's stable ABI.
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

// Returns false in a process without Python.
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

// Writes "FILE:LINE" of the innermost Python frame of the calling thread. Writes "" if the thread runs no Python, or
// does not hold the interpreter lock.
void find_python_line(char *text, size_t capacity) {
    text[0] = '\0';
    Python python{};
    if (!find_python(&python)) {
        return;
    }
    // PyGILState_Check returns 1 on every thread once there have been subinterpreters.
    const Object *own = python.PyGILState_GetThisThreadState();
    if (own == nullptr || own != python.PyThreadState_GetUnchecked()) {
        return;
    }
    if (Object *frame = python.PyEval_GetFrame(); frame != nullptr) {
        write_line(python, frame, text, capacity);
    }
}

}  // namespace

Backtrace::Backtrace() : count_(backtrace(calls_, kMost)) { find_python_line(python_line_, sizeof python_line_); }

void Backtrace::report() const {
    const void *own = library_base();
    if (python_line_[0] != '\0') {
        log_line("    %s", python_line_);
    }
    for (int32_t i = 0; i < count_; ++i) {
        Dl_info info{};
        if (dladdr(calls_[i], &info) != 0 && info.dli_fbase != own) {
            report_call(info, calls_[i]);
        }
    }
}

void prepare_backtraces() {
    void *calls[1];
    (void)backtrace(calls, 1);
}

}  // namespace via
