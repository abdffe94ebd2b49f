#include "support/borrowed_memory.hpp"

#include <new>

#include "support/wait.hpp"

namespace viapy {
namespace {

void free_borrowed(BorrowedMemory *memory) {
    Py_XDECREF(memory->owner);
    Py_XDECREF(memory->description);
    Py_XDECREF(memory->release);
    delete memory;
}

void end_borrowed(Deferred *self) {
    BorrowedMemory *memory = static_cast<BorrowedMemory *>(self);
    if (memory->view != nullptr) {
        PyBuffer_Release(memory->view);
        delete memory->view;
    }
    if (memory->release != nullptr && !Ref(PyObject_CallNoArgs(memory->release))) {
        PyErr_WriteUnraisable(memory->release);
    }
    free_borrowed(memory);
}

}  // namespace

BorrowedMemory *borrow_memory(PyObject *owner, PyObject *release, Py_buffer *view) {
    BorrowedMemory *memory = new (std::nothrow) BorrowedMemory;
    if (memory == nullptr) {
        PyErr_NoMemory();
        return nullptr;
    }
    Py_XINCREF(owner);
    Py_XINCREF(release);
    memory->run = end_borrowed;
    memory->owner = owner;
    memory->release = release;
    memory->view = view;
    return memory;
}

void release_borrowed(void *memory) {
    const InsideCallback scope;
    run_or_defer(static_cast<BorrowedMemory *>(memory));
}

void cancel_borrowed(BorrowedMemory *memory) {
    if (memory == nullptr) {
        return;
    }
    if (memory->view != nullptr) {
        PyBuffer_Release(memory->view);
        delete memory->view;
    }
    free_borrowed(memory);
}

}  // namespace viapy
