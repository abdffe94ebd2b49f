// Memory that Python objects export to the library, and its release on threads without the GIL.
#pragma once

#include "support/deferred.hpp"
#include "support/errors.hpp"

namespace viapy {

// Keeps exported memory alive: an owner, its description, a function to call without arguments, a buffer to release.
// Each may be NULL.
struct BorrowedMemory : Deferred {
    PyObject *owner = nullptr;
    PyObject *description = nullptr;
    PyObject *release = nullptr;
    Py_buffer *view = nullptr;
};

// Holds owner and release by new references, and owns the view. NULL with MemoryError set if there is no memory.
BorrowedMemory *borrow_memory(PyObject *owner, PyObject *release, Py_buffer *view = nullptr);

// A via_release_fn whose context is a BorrowedMemory. Releases it once, from any thread.
void release_borrowed(void *memory);

// Frees memory that the library never accepted, without calling its release function.
void cancel_borrowed(BorrowedMemory *memory);

// Returns what keeps an array's memory alive, NULL if Python does not.
inline BorrowedMemory *borrowed_memory_of(via_array *array) {
    return static_cast<BorrowedMemory *>(via_array_context(array, release_borrowed));
}

// Calls make(release function, context, &array) for borrowed memory, which may be NULL. Returns NULL with an exception
// set on failure; the memory is cancelled then.
template <class Make>
via_array *adopt_borrowed(BorrowedMemory *memory, Make make) {
    via_array *array = nullptr;
    via_status status = make(memory != nullptr ? release_borrowed : nullptr, memory, &array);
    if (status != VIA_OK) {
        raise_status(status);
        ErrorScope errors;
        cancel_borrowed(memory);
        return nullptr;
    }
    return array;
}

}  // namespace viapy
